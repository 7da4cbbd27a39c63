// The piece of a section's text that shows most of what was looked for, and the marking of it, here and on the page that opens.
import { isHan } from "./words.js";

const LENGTH = { zh: 84, en: 170 };
const BEFORE = { zh: 16, en: 36 };
const BETWEEN = "[\\s_.:/\\-\\[\\]]*";

// A pattern of all that is marked: longest first; between letters and Chinese, and for any space or joint, any may stand.
export function patternOf(marks) {
  const wanted = [...new Set([...marks].map((mark) => mark.toLowerCase()))].filter(Boolean).sort((one, two) => two.length - one.length || (one < two ? -1 : 1));
  const written = wanted.map((mark) =>
    (mark.match(/[a-z0-9]+|[^a-z0-9\s_.:/\-[\]]/gi) ?? [])
      .map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
      .join(BETWEEN),
  );
  return written.some(Boolean) ? new RegExp(written.filter(Boolean).join("|"), "gi") : undefined;
}

// Where the pattern stands in a text; a word's middle is no match, its beginning is.
export function places(text, pattern) {
  if (!pattern) return [];
  const letter = /[a-z0-9]/i;
  return [...text.matchAll(pattern)]
    .filter(({ 0: match, index }) => !(index && letter.test(match[0]) && letter.test(text[index - 1]) && !isHump(text, index)))
    .map(({ 0: match, index }) => ({ from: index, to: index + match.length + ending(text, index + match.length), match: match.toLowerCase() }));
}

// A short rest of the word belongs to the mark: the s of conflicts.
const ending = (text, at) => (/[a-z]/i.test(text[at - 1]) && /^[a-z]{1,3}(?![a-z0-9])/.exec(text.slice(at, at + 4))?.[0].length) || 0;

const isHump = (text, index) => /[a-z]/.test(text[index - 1]) && /[A-Z]/.test(text[index]);

export function excerptOf(text, pattern, language) {
  const length = LENGTH[language];
  const found = places(text, pattern);
  let best = { score: -1, from: 0 };
  found.forEach(({ from }, index) => {
    const seen = new Map();
    for (let next = index; next < found.length && found[next].to <= from + length; next++) seen.set(found[next].match, found[next].to - found[next].from);
    // Of Chinese a longer match says more; earlier in the section is better.
    const score = [...seen].reduce((sum, [match, size]) => sum + (isHan(match) ? size : 3), 0) - from / 4000;
    if (score > best.score) best = { score, from };
  });
  let from = Math.max(0, best.from - BEFORE[language]);
  if (from && language === "en") from = text.indexOf(" ", from) + 1 || from;
  if (text.length - from < length) from = Math.max(0, Math.min(from, text.length - length));
  let to = Math.min(text.length, from + length);
  if (to < text.length && language === "en") to = Math.max(text.lastIndexOf(" ", to), from + length - 20);
  return `${from ? "…" : ""}${text.slice(from, to).replace(from ? /^[\s.,;:)，。；：、）]+/ : "", "").trim()}${to < text.length ? "…" : ""}`;
}

// A text as nodes, with what was looked for in <mark>.
export function marked(text, pattern) {
  const nodes = [];
  let at = 0;
  for (const { from, to } of places(text, pattern)) {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(from, to);
    nodes.push(text.slice(at, from), mark);
    at = to;
  }
  nodes.push(text.slice(at));
  return nodes.filter((node) => node !== "");
}

// Mark in an article; code that runs, drawings and controls stay as they are.
export function markIn(article, marks) {
  const pattern = patternOf(marks);
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT, ({ parentElement: around }) =>
    around.closest("svg, script, style, button, select, textarea, mark, .run-bar, .run-output, .headerlink") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
  );
  const texts = [];
  while (walker.nextNode()) texts.push(walker.currentNode);
  for (const text of texts) if (places(text.data, pattern).length) text.replaceWith(...marked(text.data, pattern));
}
