// What a query means: its units, each a word, a pair of Chinese signs or a term of the glossary, with the pages that have it.
import { joinedOf, mass, runsOf, unitsOf, WORD } from "./rows.js";
import { distance, errors, isHan, isStop, pieces, stem, wished } from "./words.js";

const TERM = 1.6; // a term of the glossary says more than a word
const WHOLE = 1.5; // an identifier as it stands, besides its parts
const PART = 0.4; // a word of a term, besides the term
const APART = 0.7; // so much of a term is held by a page that has its words, but not together
const BEGUN = 0.75; // a word of which only the beginning is typed
const LACKING = 1.4; // what no page has weighs more than what one has
const GUESSED = 0.6; // so much of a word is held by what it is corrected to
const FORMS = 24; // words that one beginning stands for, at most
const QUOTED = /^\s*["“”「'](.+)["“”」']\s*$/;

// `said` is what has to be told the reader, `marks` what is marked in the results; a unit's `mass` is its share of the query.
export async function understand(query, store, names) {
  const quoted = QUOTED.exec(query);
  const { kind: wish, rest: text } = quoted ? { rest: quoted[1] } : wished(query);
  const cut = pieces(text);
  const ended = /[\s.…?!？！。,，]$/.test(text) || quoted;
  const state = { store, names, wish, literal: Boolean(quoted), units: [], said: [], marks: new Set(), missing: [] };
  const row = unitsOf(cut);
  if (!ended && row.length && !row.at(-1).han) row.at(-1).typing = true;
  const joints = joinedOf(row);
  const wholes = cut.filter((piece) => piece.parts?.length > 1);
  const plain = row.filter((unit) => !unit.han && !isStop(unit.text));
  const wanted = (held, words) => [
    ...held.flatMap(({ term }) => wantedOf(term)),
    ...words.flatMap((unit) => [root(unit.text), ...(unit.split ?? [])]),
    ...runsOf(row).flatMap(({ pairs }) => pairs.map((pair) => pair.text)),
  ];
  // All at once, as if every word were right; a correction asks for more.
  const early = state.literal ? [] : marked(names, row);
  await store.load([...wanted(early, plain), ...wholes.map(({ whole }) => whole), ...joints.map(({ text: word }) => word)]);
  const held = state.literal ? [] : heldOf(state, row, plain, joints, early);
  const words = plain.filter((unit) => !unit.held);
  await store.load(wanted(held, words));
  const runs = runsOf(row);
  for (const name of held) addTerm(state, name, row.slice(name.from, name.to));
  for (const { whole, written } of wholes) addWhole(state, whole, written);
  const spared = addJoints(state, joints);
  for (const word of words) if (!spared.has(word)) await addWord(state, word);
  for (const run of runs) await addRun(state, run);
  return state;
}

const wantedOf = ({ id, parts }) => [`#${id}`, ...(parts.length > 1 ? parts.map((part) => (isHan(part) ? part : root(part))) : [])];

// The glossary's names in a query; first misspelt words are taken for what they may mean.
function heldOf(state, row, plain, joints, early) {
  const joint = new Set(joints.filter(({ text }) => state.store.find(text)).flatMap(({ pair }) => pair));
  for (const unit of plain) {
    if (unit.held || joint.has(unit) || knows(state.store, unit)) continue;
    const parts = /^([a-z]{2,})(\d+[a-z]?)$/.exec(unit.text);
    const meant = parts ? undefined : corrected(state.store, unit.text);
    if (parts) unit.split = parts.slice(1);
    else if (meant) Object.assign(unit, { text: meant.word, from: unit.text });
  }
  return plain.some(({ from }) => from) ? marked(state.names, row) : early;
}

function marked(names, row) {
  for (const unit of row) unit.held = false;
  const held = names.held(row);
  for (const { from, to } of held) for (let at = from; at < to; at++) row[at].held = true;
  return held;
}

// Does any page have this word, one of its forms, or (where it may be unfinished) one that begins so?
function knows(store, { text, typing }) {
  const same = stem(text);
  return store.tokens(root(text)).some((token) => token === text || stem(token) === same) || ((typing ? text.length > 1 : text.length > 3) && store.tokens(text).length > 0);
}

// The beginning that a word's forms share.
const root = (word) => stem(word).replace(/[sz]$/, "") || word;

function addTerm(state, { term, name, how, far }, units) {
  const found = state.store.find(`#${term.id}`);
  const written = units.map(({ text, from: typed, han }) => (han ? text : ` ${typed ?? text} `)).join("").replace(/ +/g, " ").trim();
  const guessed = far || units.some((unit) => unit.from);
  state.units.push({ found, factor: TERM, mass: mass(units), term });
  if (!found) state.missing.push(written);
  if (how !== "main" || guessed) state.said.push({ how: guessed ? "correction" : how, from: written, to: guessed ? name : term.main });
  for (const shown of [...(guessed || how === "correction" ? [] : [written]), ...term.names]) state.marks.add(shown);
  addParts(state, state.units.at(-1), term);
}

// The words of a term's name, besides: a page may say them apart, or in another order.
function addParts(state, { found, mass: share }, { parts }) {
  if (parts.length < 2) return;
  const known = parts.map((part) => (isHan(part) ? having(state, part) : merged(state, forms(state, part)))).filter(Boolean);
  for (const part of known) state.units.push({ found: part, factor: PART, mass: 0 });
  if (known.length * 2 <= parts.length) return;
  const times = new Uint8Array(state.store.pages);
  for (const { pages } of known) for (const page of pages) times[page]++;
  for (const page of found?.pages ?? []) times[page] = 0;
  const all = [...known.reduce((fewest, one) => (one.pages.length < fewest.pages.length ? one : fewest)).pages].filter((page) => times[page] === known.length);
  if (all.length) state.units.push({ found: { pages: all, levels: all.map(() => 1), sections: all.map(() => 0) }, factor: 0, mass: share * APART, spare: true });
}

function addWhole(state, whole, written) {
  const exact = state.store.find(whole);
  const begun = exact ? [] : state.store.tokens(whole).slice(0, FORMS);
  if (!exact && (!begun.length || whole.length < 6)) return;
  state.units.push({ found: exact ?? merged(state, begun), factor: WHOLE, mass: 0 });
  state.marks.add(written);
}

// Where both words are known by themselves, the one word of both is a bonus; else it is meant.
function addJoints(state, joints) {
  const spared = new Set();
  for (const { text, pair } of joints) {
    const found = state.store.find(text);
    if (!found || pair.some((word) => spared.has(word))) continue;
    const both = pair.every((word) => !isStop(word.text) && forms(state, word.text).length);
    state.units.push({ found, factor: both ? WHOLE : 1, mass: both || pair.some(({ held }) => held) ? 0 : mass(pair) });
    state.marks.add(pair.map(({ text: word }) => word).join(" "));
    if (!both) for (const word of pair) spared.add(word);
  }
  return spared;
}

const forms = ({ store, literal }, word) => store.tokens(root(word)).filter((token) => token === word || (!literal && stem(token) === stem(word)));

async function addWord(state, { text: word, typing, split, from }) {
  const { store } = state;
  const known = forms(state, word);
  if (from && known.length) {
    state.said.push({ how: "correction", from, to: word });
    return addForms(state, known, 1, GUESSED);
  }
  if (known.length) return addForms(state, known, 1);
  const begun = (typing ? word.length > 1 : word.length > 3) ? store.tokens(word).slice(0, FORMS) : [];
  if (begun.length) return addForms(state, begun, BEGUN);
  if (split?.every((part) => store.find(part))) return split.forEach((part) => addForms(state, [part], 1));
  const term = state.literal ? undefined : state.names.near(word);
  if (!term) return state.literal ? lack(state, word, WORD) : await other(state, word, WORD);
  await store.load(wantedOf(term.term));
  addTerm(state, { ...term, far: term.far || 1 }, [{ text: word }]);
}

function addForms(state, tokens, factor, held = 1) {
  state.units.push({ found: merged(state, tokens), factor, mass: WORD * held }, { mass: WORD * (1 - held) });
  for (const token of tokens) state.marks.add(token);
}

// Not a word of this language's pages: perhaps one of a title in the other's.
async function other(state, text, share, from = text) {
  await state.store.load([`~${text}`]);
  const found = having(state, `~${text}`);
  if (!found) return lack(state, text, share);
  state.units.push({ found, factor: 1, mass: share });
  if (!state.said.some(({ how }) => how === "pages")) state.said.push({ how: "pages", from });
}

function lack(state, text, share) {
  state.units.push({ mass: share * LACKING });
  state.missing.push(text);
}

// The word that a misspelt one may mean, of those of titles and headings and of those that begin alike.
function corrected(store, word) {
  const most = errors(word);
  let best;
  for (const candidate of most && /^[a-z]+$/.test(word) ? [...store.words, ...store.near(root(word))] : []) {
    if (candidate[0] !== word[0] && word.length < 6) continue;
    const far = distance(word, candidate, most);
    if (far < (best?.far ?? most + 1)) best = { word: candidate, far };
  }
  return best;
}

async function addRun(state, { signs, pairs }) {
  const covered = new Set();
  const found = pairs.map((pair) => ({ ...pair, found: having(state, pair.text) }));
  for (const { found: pages, signs: own } of found) if (pages) for (const sign of own) covered.add(sign);
  const speaking = signs.filter(({ stop }) => !stop);
  const text = signs.map((sign) => sign.text).join("");
  if (!state.literal && speaking.some((sign) => !covered.has(sign))) {
    const plain = speaking.map((sign) => sign.text).join("");
    const term = state.names.near(plain) ?? state.names.near(text);
    if (term) {
      await state.store.load(wantedOf(term.term));
      return void addTerm(state, term, speaking);
    }
  }
  for (const { text: pair, signs: own, loose, found: pages } of found) {
    const share = loose ? 0 : own.reduce((sum, sign) => sum + 1 / found.filter((one) => !one.loose && one.signs.includes(sign)).length, 0);
    if (pages) {
      state.units.push({ found: pages, factor: loose ? 0.5 : own.length > 1 ? 1 : 0.7, mass: share });
      state.marks.add(pair);
    } else if (!loose && own.some((sign) => !covered.has(sign))) {
      if (isHan(pair) && !state.literal) await other(state, pair, share, text);
      else lack(state, pair, share);
    } else if (!loose) state.units.push({ mass: share * 0.3 }); // a pair across two words
  }
  for (const part of text.split("").reduce((parts, sign, index) => (signs[index].stop ? [...parts, ""] : [...parts.slice(0, -1), parts.at(-1) + sign]), [""])) {
    if (part.length > 2) state.marks.add(part);
  }
}

// The pages that have a word, or one or two Chinese signs; a sign begins each token of it and the next one, and that of itself at the end of a run.
const having = (state, token) => (/^~?.$/.test(token) && isHan(token) ? merged(state, state.store.tokens(token)) : state.store.find(token));

// The pages of several tokens as of one: of each page the highest level.
function merged({ store }, tokens) {
  if (!tokens.length) return undefined;
  if (tokens.length === 1) return store.find(tokens[0]);
  const best = new Uint8Array(store.pages);
  const where = new Uint16Array(store.pages);
  for (const token of tokens) {
    const { pages, levels, sections } = store.find(token) ?? { pages: [] };
    for (let at = 0; at < pages.length; at++) {
      if (levels[at] <= best[pages[at]]) continue;
      best[pages[at]] = levels[at];
      where[pages[at]] = sections[at];
    }
  }
  const found = { pages: [], levels: [], sections: [] };
  for (let page = 0; page < store.pages; page++) {
    if (!best[page]) continue;
    found.pages.push(page);
    found.levels.push(best[page]);
    found.sections.push(where[page]);
  }
  return found;
}
