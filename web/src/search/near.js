// Where nothing is found: terms that the query may have meant, by the letters or signs that they share.
import { keys } from "./words.js";

const MOST = 5;
const ALIKE = 0.34;

export function nearTerms({ units, missing, said }, { listed }) {
  const found = units.filter(({ term, found: pages }) => term && pages).map(({ term }) => term.main);
  const meant = said.filter(({ how }) => how === "correction").map(({ to }) => to);
  const scored = listed.map(({ main, names }) => ({ main, score: Math.max(...names.flatMap((name) => keys(name)).map((key) => likeness(missing.join(""), key))) }));
  const alike = scored.filter(({ score }) => score >= ALIKE).sort((one, two) => two.score - one.score || (one.main < two.main ? -1 : 1));
  return [...new Set([...found, ...meant, ...alike.map(({ main }) => main)])].slice(0, MOST);
}

// The share of pairs of signs that two words have in common.
function likeness(one, other) {
  const [mine, theirs] = [pairs(one), pairs(other)];
  if (!mine.size || !theirs.size) return 0;
  return (2 * [...mine].filter((pair) => theirs.has(pair)).length) / (mine.size + theirs.size);
}

const pairs = (text) => new Set([...text].slice(1).map((sign, index) => text[index] + sign));
