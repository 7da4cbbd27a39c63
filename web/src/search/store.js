// The index's files, each asked for when a query first needs it and kept for the page's life. scripts/search_index/writing.py says what they hold.
import { isHan } from "./words.js";

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const ABREAST = 4; // files that are asked for at once in the background
const WIDEST = 4; // shards that one beginning of a word may ask for; a shorter one asks for as many as it has letters, a Chinese sign for all

export async function openStore(folder) {
  const core = await (await asked(`${folder}index.json`, { cache: "no-cache" })).json();
  const files = new Map();
  const postings = new Map();
  const pages = core.kinds.at(-1);
  const limits = core.shards;
  let kept = false;

  function file(name) {
    if (!files.has(name)) {
      const found = asked(`${folder}${name}.${core.digest}.json`).then((answer) => answer.json());
      files.set(name, { found });
      found.then(
        (value) => (files.get(name).value = value),
        () => files.delete(name),
      );
    }
    return files.get(name);
  }

  // The shards with the tokens that begin so.
  function range(beginning) {
    let first = 0;
    for (let low = 0, high = limits.length - 1; low <= high; ) {
      const middle = (low + high) >> 1;
      if (limits[middle] <= beginning) [first, low] = [middle, middle + 1];
      else high = middle - 1;
    }
    const found = [first];
    const most = isHan(beginning) ? WIDEST : Math.min(WIDEST, beginning.length);
    while (found.length < most && limits[found.at(-1) + 1]?.startsWith(beginning)) found.push(found.at(-1) + 1);
    return found.map((number) => `w${number}`);
  }

  function pagesOf(token, text) {
    if (!postings.has(token)) postings.set(token, unpacked(text));
    return postings.get(token);
  }

  return {
    core,
    words: core.words.split(" "),
    pages,
    kind: (page) => core.kinds.findIndex((end) => page < end),
    load: async (beginnings) => {
      const waiting = [...new Set(beginnings.flatMap(range))].map(file).filter(({ value }) => !value);
      if (waiting.length) await Promise.all(waiting.map(({ found }) => found));
    },
    // Of what is loaded: the tokens that begin so, and the pages of one.
    tokens: (beginning) => range(beginning).flatMap((name) => Object.keys(files.get(name)?.value ?? {}).filter((token) => token.startsWith(beginning))),
    near: (beginning) => range(beginning).flatMap((name) => Object.keys(files.get(name)?.value ?? {})),
    find: (token) => {
      const shard = files.get(range(token)[0])?.value;
      return shard && Object.hasOwn(shard, token) ? pagesOf(token, shard[token]) : undefined;
    },
    cards: async (numbers) => {
      const waiting = [...new Set(numbers.map((page) => Math.floor(page / core.cards)))].map((number) => file(`c${number}`)).filter(({ value }) => !value);
      if (waiting.length) await Promise.all(waiting.map(({ found }) => found));
    },
    card: (page) => files.get(`c${Math.floor(page / core.cards)}`)?.value?.[page % core.cards],
    holds: (page, chunk) => Boolean(files.get(`t${page}-${chunk}`)?.value),
    // The text of a section, at once if it is here, else a promise.
    text: (page, chunk, place) => {
      const kept = file(`t${page}-${chunk}`);
      return kept.value ? kept.value[place] : kept.found.then((texts) => texts[place]);
    },
    // What a later query may need, also without a network: asked for in the background.
    keep: async (bytes) => {
      if (kept || core.size > bytes) return;
      kept = true;
      const names = [...limits.keys()].map((number) => `w${number}`).concat(Array.from({ length: Math.ceil(pages / core.cards) }, (_, number) => `c${number}`));
      for (let at = 0; at < names.length; at += ABREAST) await Promise.allSettled(names.slice(at, at + ABREAST).map((name) => file(name).found));
    },
  };
}

async function asked(address, options) {
  const answer = await fetch(address, options);
  if (!answer.ok) throw new Error(`${answer.status} ${address}`);
  return answer;
}

// A token's pages: numbers, levels and sections side by side.
function unpacked(text) {
  const found = { pages: [], levels: [], sections: [] };
  let page = -1;
  let gap = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 58) {
      gap = 10 * gap + code - 48;
      continue;
    }
    page += gap || 1;
    gap = 0;
    const sign = text[++at];
    const section = SIGNS.indexOf(sign);
    found.pages.push(page);
    found.levels.push(code - 64);
    found.sections.push(section < 0 ? sign.charCodeAt(0) - 0x4e00 : section);
  }
  return found;
}
