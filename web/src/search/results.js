// What the dialog shows: what was understood, the results, or that nothing was found; and how the keyboard moves through it.
import { excerptOf, marked } from "./excerpt.js";
import { KINDS, sectionOf } from "./rank.js";
import { told } from "./said.js";

export const PAGE = 6; // results at once
const PAUSE = 80; // milliseconds without a letter, after which texts are fetched
const MARKS = 24; // words that are marked on the page that opens

export function shown(view, found) {
  const { dialog, list, status, words } = view;
  view.found = found;
  const notes = dialog.querySelector(".search-notes");
  notes.replaceChildren(...notesOf(view, found));
  view.observer?.disconnect();
  view.waiting = new Map();
  list.replaceChildren(...(found.results ?? []).slice(0, PAGE).map((result) => itemOf(view, found, result)));
  const rest = (found.results?.length ?? 0) - PAGE;
  if (rest > 0) list.append(moreOf(view, found, rest));
  dialog.querySelector(".search-body").scrollTop = 0;
  const texts = { idle: "", failed: words.failed, ready: found.results?.length ? told(words.count, found.results.length) : told(words.none, found.query) };
  status.dataset.found = found.results?.length ?? "";
  if (status.textContent !== texts[found.state]) status.textContent = texts[found.state];
  dialog.dataset.state = found.state;
  if (view.opens && found.state === "ready") list.querySelector("a")?.click();
  view.opens = false;
}

function notesOf({ words, language, other }, { query, state, meaning, results, near, search }) {
  if (state === "idle") return [words.hint, words.keys].map((text) => make("p", { class: "search-hint" }, text));
  if (state === "failed") return [line(words.failed, press(words.again, () => search()))];
  const notes = (results.length ? meaning.said : []).map(({ how, from, to }) => make("p", { class: "search-said", "data-said": how }, told(words[how], from, to)));
  if (notes.length) notes.at(-1).append(" ", press(told(words.literal, query), () => search(`"${query}"`)));
  if (meaning.literal) notes.push(line(words.exact, press(words.loose, () => search(query.slice(1, -1)))));
  if (results.length) return notes;
  if (near.length) {
    const terms = make("p", { class: "search-near" }, words.near);
    terms.append(...near.flatMap((term, index) => [index ? " · " : "", press(term, () => search(term))]));
    notes.push(terms);
  }
  if (other) notes.push(line("", make("a", { href: `${other}?q=${encodeURIComponent(query)}`, class: "search-press", hreflang: language === "zh" ? "en" : "zh" }, words.other)));
  return notes;
}

function itemOf(view, { store, pattern, meaning }, { page, kind }) {
  const [address, title, ...sections] = store.card(page);
  const [anchor, heading, chunk, place] = sections[sectionOf(page, meaning, store)] ?? sections[0];
  const marks = shortest(meaning.marks).join("|");
  const link = make("a", { href: `${view.root}${address}?h=${encodeURIComponent(marks)}${anchor ? `#${anchor}` : ""}`, "data-result": "" });
  const name = make("span", { class: "search-title" });
  name.append(...marked(title, pattern));
  link.append(name);
  if (view.words.kinds[KINDS[kind]]) name.append(" ", make("small", { class: "search-kind" }, view.words.kinds[KINDS[kind]]));
  if (heading) {
    const part = make("span", { class: "search-section" });
    part.append(...marked(heading, pattern));
    link.append(part);
  }
  const excerpt = make("span", { class: "search-excerpt" });
  link.append(excerpt);
  const fill = (text) => {
    excerpt.replaceChildren(...marked(excerptOf(text, pattern, view.language), pattern));
    excerpt.hidden = !text;
  };
  const show = () => {
    const text = store.text(page, chunk, place);
    if (typeof text === "string") fill(text);
    else text.then(fill, () => (excerpt.hidden = true));
  };
  if (store.holds(page, chunk)) show();
  else seen(view, link, show);
  const item = make("li", {});
  item.append(link);
  return item;
}

// The text of a result is fetched when the result is in view and the reader pauses: the next letter's files go first.
function seen(view, link, action) {
  view.waiting.set(link, action);
  view.observer ??= new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      view.observer.unobserve(target);
      view.waiting.get(target)?.();
    }
  });
  clearTimeout(view.pause);
  view.pause = setTimeout(() => view.waiting.forEach((_, waiting) => view.observer.observe(waiting)), PAUSE);
}

// What another mark is a part of need not be told to the page that opens.
function shortest(marks) {
  const all = [...marks].map((mark) => mark.toLowerCase());
  return all.filter((mark) => !all.some((other) => other !== mark && mark.includes(other))).slice(0, MARKS);
}

function moreOf(view, found, rest) {
  const item = make("li", { class: "search-more" });
  item.append(
    press(told(view.words.more, rest), async () => {
      const next = found.results.slice(PAGE);
      await found.store.cards(next.map(({ page }) => page));
      item.replaceWith(...next.map((result) => itemOf(view, found, result)));
      view.list.querySelectorAll("a")[PAGE]?.focus();
    }),
  );
  return item;
}

// Arrows move the focus between the field and the results, Enter in the field opens the first, a letter goes to the field.
export function followed(view, composing) {
  const { dialog, input, list } = view;
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the page behind has shortcuts of its own
    if (composing() || event.isComposing || event.keyCode === 229) return;
    const stops = [input, ...list.querySelectorAll("a, button")];
    const at = stops.indexOf(event.target);
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps && at >= 0) {
      event.preventDefault();
      stops[(at + steps[event.key] + stops.length) % stops.length].focus();
    } else if (event.key === "Enter" && event.target === input) {
      event.preventDefault();
      if (dialog.dataset.state === "ready") list.querySelector("a")?.click();
      else view.opens = Boolean(input.value.trim());
    } else if (at > 0 && event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) input.focus();
  });
}

function line(text, action) {
  const paragraph = make("p", { class: "search-said" }, text ? `${text} ` : "");
  paragraph.append(action);
  return paragraph;
}

function press(text, action) {
  const button = make("button", { type: "button", class: "search-press" }, text);
  button.addEventListener("click", action);
  return button;
}

function make(tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
