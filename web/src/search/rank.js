// Which pages a query is about, in which order, and which section of each answers it best.
export const KINDS = ["question", "lab", "glossary", "other"];
const ENOUGH = 0.5; // of the query that a page has to hold
const NEARLY = 0.35; // so much less than the best page may one hold that stands among the first
const TITLE = 10; // levels from here on are those of a title's words
const FOCUS = 1.5; // a page that holds all of the query counts more than one that holds half
const WORTH = 0.06; // of the best score: less is chance

export function ranked({ units, wish }, { pages: count, kind, core }) {
  const score = new Float64Array(count);
  const held = new Float64Array(count);
  const named = new Float64Array(count); // of the query, what the title says
  let speaking = 0;
  const whole = units.reduce((sum, { mass, spare }) => sum + (spare ? 0 : mass), 0);
  for (const { found, factor, mass } of units) {
    if (!found) continue;
    if (mass) speaking++;
    const weight = factor * Math.log(1 + count / (found.pages.length || 1));
    for (let at = 0; at < found.pages.length; at++) {
      score[found.pages[at]] += (weight * found.levels[at]) / core.highest;
      held[found.pages[at]] += mass;
      if (found.levels[at] >= TITLE && !found.sections[at]) named[found.pages[at]] += mass;
    }
  }
  const results = [];
  for (let page = 0; page < count; page++) {
    const share = whole ? Math.min(1, held[page] / whole) : score[page] ? 1 : 0;
    if (score[page] && share >= ENOUGH - 1e-9) results.push({ page, share, kind: kind(page), titled: named[page] >= whole - 1e-9, score: score[page] * share ** FOCUS });
  }
  const most = Math.max(0, ...results.map(({ share }) => share));
  const best = results.reduce((highest, { score: own }) => Math.max(highest, own), 0);
  // First what holds most of the query: questions, then labs, then the glossary, then the rest; then what holds less.
  // But first of all the kind that is asked for, and another page whose title is the query where no question's is.
  const called = speaking > 1 && !results.some(({ kind: own, titled }) => titled && own === 0);
  const asked = KINDS.indexOf(wish);
  const first = ({ kind: own, titled }) => own === asked || (called && titled && own === KINDS.length - 1);
  const group = (result) => (result.share < most - NEARLY ? KINDS.length : first(result) ? -1 : result.kind);
  const worth = results.filter(({ score: own }) => own >= best * WORTH);
  for (const result of worth) result.group = group(result);
  return worth.sort((one, two) => one.group - two.group || two.score - one.score || one.page - two.page);
}

// The section of a page that the heaviest units name.
export function sectionOf(page, { units }, { pages: count }) {
  const votes = new Map();
  for (const { found, factor } of units) {
    const at = found ? place(found.pages, page) : -1;
    if (at < 0) continue;
    const section = found.sections[at];
    votes.set(section, (votes.get(section) ?? 0) + factor * Math.log(1 + count / found.pages.length) * (1 + found.levels[at]));
  }
  let best = 0;
  for (const [section, weight] of votes) if (weight > (votes.get(best) ?? 0) || (weight === votes.get(best) && section < best)) best = section;
  return best;
}

function place(pages, page) {
  let low = 0;
  let high = pages.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    if (pages[middle] === page) return middle;
    if (pages[middle] < page) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
