// The search behind the dialog: loaded when the reader first opens it.
import { understand } from "./query.js";
import { ranked } from "./rank.js";
import { openNames } from "./names.js";
import { openStore } from "./store.js";
import { nearTerms } from "./near.js";
import { patternOf } from "./excerpt.js";
import { followed, PAGE, shown } from "./results.js";
import { said } from "./said.js";
export { markIn } from "./excerpt.js";

const KEPT = 2_000_000; // bytes of an index that is fetched whole in the background, so that it answers without a network
const REST = 1500; // milliseconds without a letter, after which that begins

// Bring the dialog to life; open.js made it. Gives what has to be called when it is opened with a query.
export function attach(dialog, { folder, language, other }) {
  const words = said[language];
  const input = dialog.querySelector("input");
  const view = { dialog, input, language, words, other, root: new URL("..", folder).href, list: dialog.querySelector(".search-results"), status: dialog.querySelector("[role=status]") };
  let engine; // a promise, kept once it is there
  let turn = 0; // an answer to an older query is not shown
  let composing = false;
  let rest;

  async function search(text) {
    if (text !== undefined) {
      input.value = text;
      input.focus();
    }
    const query = input.value.trim();
    const mine = ++turn;
    if (!query) return shown(view, { query, state: "idle" });
    dialog.dataset.state = "loading";
    try {
      engine ??= started(folder, language);
      const { store, names } = await engine;
      const meaning = await understand(query, store, names);
      const results = ranked(meaning, store);
      if (mine !== turn) return;
      const first = results.slice(0, PAGE).map(({ page }) => page);
      if (first.some((page) => !store.card(page))) await store.cards(first);
      if (mine !== turn) return;
      shown(view, { query, state: "ready", meaning, results, store, pattern: patternOf(meaning.marks), near: results.length ? [] : nearTerms(meaning, names), search });
      clearTimeout(rest);
      rest = setTimeout(() => idle(() => store.keep(navigator.connection?.saveData ? 0 : KEPT)), REST);
    } catch {
      engine = undefined;
      if (mine === turn) shown(view, { query, state: "failed", search });
    }
  }

  input.addEventListener("compositionstart", () => (composing = true));
  input.addEventListener("compositionend", () => ((composing = false), search()));
  input.addEventListener("input", (event) => composing || event.isComposing || search());
  followed(view, () => composing);
  return () => search();
}

async function started(folder, language) {
  const store = await openStore(folder);
  return { store, names: openNames(store.core.terms, language === "zh") };
}

const idle = (action) => (globalThis.requestIdleCallback ?? setTimeout)(action);
