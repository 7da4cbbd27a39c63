// The editor. It lives in a shadow root: the page's policy forbids the style elements that it would otherwise write.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { LRLanguage, LanguageSupport, HighlightStyle, bracketMatching, indentOnInput, indentService, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState, StateEffect, StateField, Transaction } from "@codemirror/state";
import { Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { parser } from "@lezer/python";
import { told } from "./words.js";

// A new line is indented as the one above: one step more after a colon or an open bracket, one less after a return and for what
// closes a block. Lines are enough for that: the syntax tree may not be there yet.
const indentation = indentService.of(({ state, simulatedBreak, unit }, position) => {
  const line = state.doc.lineAt(position);
  const isBroken = simulatedBreak !== null && simulatedBreak >= line.from && simulatedBreak <= line.to;
  let above = line.text.slice(0, isBroken ? simulatedBreak - line.from : 0);
  for (let number = line.number - 1; !isBroken && number && !above.trim(); number -= 1) above = state.doc.line(number).text;
  const rest = line.text.slice(isBroken ? simulatedBreak - line.from : 0).trim();
  const opens = /[:([{]\s*(#.*)?$/.test(above);
  const ends = /^\s*(return|raise|break|continue|pass)\b/.test(above);
  const closes = /^([)\]}]|(else|elif|except|finally)\b)/.test(rest) && !opens;
  return Math.max(0, /^\s*/.exec(above)[0].length + (opens ? unit : 0) - (ends || closes ? unit : 0));
});
const python = new LanguageSupport(
  LRLanguage.define({
    name: "python",
    parser,
    languageData: { commentTokens: { line: "#" }, indentOnInput: /^\s*([\]})]|else:|elif .*:|except.*:|finally:)$/ },
  }),
  indentation,
);

const shade = (name) => `var(--md-code-hl-${name}-color)`;
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.bool, tags.null, tags.self], color: shade("keyword") },
  { tag: [tags.string, tags.special(tags.string)], color: shade("string") },
  { tag: tags.number, color: shade("number") },
  { tag: [tags.comment, tags.lineComment], color: shade("comment") },
  { tag: [tags.function(tags.definition(tags.variableName)), tags.definition(tags.className), tags.className], color: shade("function") },
  { tag: [tags.operator, tags.definitionOperator, tags.arithmeticOperator, tags.logicOperator, tags.compareOperator], color: shade("operator") },
  { tag: [tags.punctuation, tags.separator, tags.paren, tags.brace, tags.squareBracket], color: shade("punctuation") },
  { tag: tags.meta, color: shade("special") },
]);
const look = EditorView.theme({
  "&": { backgroundColor: "var(--md-code-bg-color)", color: "var(--md-code-fg-color)", fontSize: "inherit" },
  "&.cm-focused": { outline: "0.1rem solid var(--md-accent-fg-color)", outlineOffset: "-0.1rem" },
  ".cm-scroller": { fontFamily: "var(--md-code-font-family)", lineHeight: "1.5", maxHeight: "32rem" },
  ".cm-content": { caretColor: "var(--md-default-fg-color)", padding: "0.5em 0" },
  ".cm-cursor": { borderLeftColor: "var(--md-default-fg-color)" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--md-default-fg-color--light)", border: "none" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--md-default-fg-color) 5%, transparent)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--md-typeset-a-color) 30%, transparent)",
  },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "color-mix(in srgb, var(--md-typeset-a-color) 30%, transparent)" },
  ".cm-failed": { backgroundColor: "color-mix(in srgb, var(--figure-hot) 35%, transparent)" },
});

const setMark = StateEffect.define();
const markedLine = StateField.define({
  create: () => Decoration.none,
  update(marks, { changes, docChanged, effects }) {
    for (const effect of effects) if (effect.is(setMark)) return effect.value;
    return docChanged ? marks.map(changes) : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

// Open an editor in an element on a file's text. With a section {from, to} only that part is in the editor, until the reader asks for all.
// onChange gets the whole text. Gives what a block needs of it.
export function openEditor(host, { text, section, words, name, onChange, onRun, onLeave }) {
  const root = host.attachShadow({ mode: "open" });
  const hint = document.createElement("p");
  hint.id = "keys";
  hint.className = "keys";
  hint.textContent = words.keys;
  const toggle = document.createElement("button");
  toggle.type = "button";
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`
    :host { display: block; }
    .foot { align-items: center; display: flex; flex-wrap: wrap; font-size: 0.65rem; gap: 0.2rem 0.8rem; padding: 0.2rem 0.4rem; color: var(--md-default-fg-color--light); }
    .keys { margin: 0; }
    button { background: none; border: 0; color: var(--md-typeset-a-color); cursor: pointer; font: inherit; min-height: 1.2rem; padding: 0.1rem 0.2rem; text-decoration: underline; }
    button:focus-visible { outline: 0.1rem solid var(--md-accent-fg-color); }
    [hidden] { display: none; }
  `);
  root.adoptedStyleSheets = [sheet];

  let [before, after] = section ? [text.slice(0, section.from), text.slice(section.to)] : ["", ""];
  const numbers = new Compartment();
  const numbering = () => {
    const lines = before.split("\n").length - 1;
    return lineNumbers({ formatNumber: (number) => String(number + lines) });
  };
  const leave = (view) => (view.contentDOM.blur(), onLeave(), true);
  const view = new EditorView({
    root,
    state: EditorState.create({
      doc: text.slice(before.length, text.length - after.length),
      extensions: [
        keymap.of([
          { key: "Mod-Enter", run: () => (onRun(), true) },
          { key: "Escape", run: leave },
        ]),
        numbers.of(numbering()),
        history(),
        drawSelection(),
        indentOnInput(),
        indentUnit.of("    "),
        bracketMatching(),
        highlightActiveLine(),
        python,
        syntaxHighlighting(colours),
        look,
        markedLine,
        keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.contentAttributes.of({ "aria-label": told(words.editor, name), "aria-describedby": "keys", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged && !update.transactions.some((transaction) => transaction.annotation(Transaction.remote))) onChange(whole());
        }),
      ],
    }),
  });
  const whole = () => before + view.state.doc.toString() + after;
  const foot = document.createElement("div");
  foot.className = "foot";
  foot.append(toggle, hint);
  root.append(view.dom, foot);

  // Put another text into the editor where it differs, so that cursor and undo stay; remote: not typed by the reader.
  function replace(wanted, options = {}) {
    const now = view.state.doc.toString();
    let from = 0;
    while (from < now.length && from < wanted.length && now[from] === wanted[from]) from += 1;
    let same = 0;
    while (same < now.length - from && same < wanted.length - from && now[now.length - 1 - same] === wanted[wanted.length - 1 - same]) same += 1;
    view.dispatch({
      changes: { from, to: now.length - same, insert: wanted.slice(from, wanted.length - same) },
      annotations: Transaction.remote.of(true),
      ...options,
    });
  }

  function showWhole(all, sectionNow) {
    const everything = whole();
    [before, after] = all || !sectionNow ? ["", ""] : [everything.slice(0, sectionNow.from), everything.slice(sectionNow.to)];
    const wanted = everything.slice(before.length, everything.length - after.length);
    replace(wanted, { effects: numbers.reconfigure(numbering()), annotations: [Transaction.remote.of(true), Transaction.addToHistory.of(false)] });
    label();
  }

  let outside = [before, after]; // what lies around the section, to go back to it
  function label() {
    const isWhole = !before && !after;
    const everything = whole();
    const canGoBack = everything.startsWith(outside[0]) && everything.endsWith(outside[1]);
    toggle.hidden = !section || (isWhole && !canGoBack);
    toggle.textContent = isWhole ? words.section : words.whole;
  }
  toggle.addEventListener("click", () => {
    if (before || after) {
      outside = [before, after];
      showWhole(true);
    } else {
      showWhole(false, { from: outside[0].length, to: whole().length - outside[1].length });
    }
    view.focus();
  });
  label();
  view.focus();

  return {
    setText(wanted) {
      if (wanted === whole()) return;
      if (!(wanted.startsWith(before) && wanted.endsWith(after) && wanted.length >= before.length + after.length)) [before, after] = ["", ""];
      replace(wanted.slice(before.length, wanted.length - after.length), { effects: numbers.reconfigure(numbering()) });
      label();
    },
    mark(line) {
      const offset = before.split("\n").length - 1;
      if (line && (line <= offset || line > offset + view.state.doc.lines)) showWhole(true);
      const within = line ? line - (before.split("\n").length - 1) : 0;
      const isThere = within >= 1 && within <= view.state.doc.lines;
      const start = isThere ? view.state.doc.line(within).from : 0;
      const marks = isThere ? Decoration.set([Decoration.line({ class: "cm-failed" }).range(start)]) : Decoration.none;
      view.dispatch({ effects: [setMark.of(marks), ...(isThere ? [EditorView.scrollIntoView(start, { y: "center" })] : [])] });
    },
    close: () => view.destroy(),
  };
}
