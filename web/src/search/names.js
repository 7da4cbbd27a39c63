// The glossary's names: which of them a query holds, whatever their spaces and endings, and by which name the site knows them.
import { distance, errors, isHan, isStop, keys, pieces, stem } from "./words.js";

const LONGEST = 14; // units of a name

// What a name is made of: words, and pairs of Chinese signs.
const partsOf = (name) => pieces(name).flatMap(({ han, parts }) => parts?.filter((part) => !isStop(part)) ?? (han.length > 1 ? [...han.slice(1)].map((sign, index) => han[index] + sign) : [han]));

export function openNames(terms, chinese) {
  const known = new Map();
  const listed = terms.map(([id, names, wrong]) => ({ id, main: names[0], names, parts: partsOf(names[0]) }));
  terms.forEach(([, names, wrong], index) => {
    const term = listed[index];
    const own = new Set(keys(term.main));
    for (const name of names) {
      // A name in the other language is one in the script that the main name does not have; an abbreviation is of both.
      const foreign = chinese ? !isHan(name) && isHan(term.main) && !/^[A-Z0-9-]+$/.test(name) : isHan(name);
      const how = keys(name).some((key) => own.has(key)) ? "main" : foreign ? "language" : "synonym";
      for (const key of keys(name)) if (!known.has(key) || (how === "main" && known.get(key).how !== "main")) known.set(key, { term, name, how });
    }
    for (const name of wrong) for (const key of keys(name)) if (!known.has(key)) known.set(key, { term, name, how: "correction", size: name.split(/\s+/).length });
  });
  const spelled = [...known].filter(([key, { how }]) => how !== "correction" && key.length > 3);

  // The names in a row of units (words, and Chinese signs), the longest first; each with its place.
  function held(units) {
    const found = [];
    for (let from = 0; from < units.length; ) {
      const match = longest(units, from);
      if (match) found.push(match);
      from = match ? match.to : from + 1;
    }
    return found;
  }

  function longest(units, from) {
    for (let to = Math.min(units.length, from + LONGEST); to > from; to--) {
      const part = units.slice(from, to);
      const name = known.get(part.map(({ text }) => text).join("")) ?? known.get(part.map(({ text }) => stem(text)).join(""));
      if (name && !(name.size > 1 && part.length === 1) && whole(units, from, to)) return { ...name, from, to };
    }
    return undefined;
  }

  // One Chinese sign is a name only where it stands alone, or among words that say nothing; a part of an identifier is none.
  function whole(units, from, to) {
    if (units[from - 1]?.tight || units[to - 1].tight) return false;
    const alone = to - from === 1 && isHan(units[from].text);
    const speaks = (unit, step) => unit && unit.han && !unit.stop && unit.piece === units[from].piece;
    return !alone || !(speaks(units[from - 1]) || speaks(units[to]));
  }

  // The name that a misspelt one may mean: one error for each six letters or four signs.
  function near(text) {
    const most = isHan(text) ? (text.length > 3 ? 1 : 0) : errors(text);
    let best;
    for (const [key, name] of most ? spelled : []) {
      if (isHan(key) !== isHan(text) || Math.abs(key.length - text.length) > most) continue;
      const far = distance(text, key, most);
      if (far <= (best?.far ?? most)) if (!best || far < best.far) best = { ...name, far };
    }
    return best;
  }

  return { held, near, listed };
}
