// The code as the page shows it without an editor: the section that the page was built with, its numbers as they are set now;
// or, where the reader or a link changed more, the changed text, plain.
import { make } from "./offer.js";
import { place } from "./parameters.js";

export class StaticCode {
  constructor(element, original) {
    this.pre = element.querySelector("pre");
    this.code = this.pre.querySelector("code");
    this.plain = null;
    this.original = original;
    const section = this.code.textContent.trimEnd();
    const from = original.indexOf(section);
    this.section = from < 0 || !section ? null : { from, to: from + section.length, text: section };
    this.fields = new Map(); // a parameter's name -> the text node that holds its value
    this.hidden = false;
  }

  // Show a text; values, where it differs from the original in nothing but these.
  show(text, values) {
    this.text = text;
    this.current = values ? this.pre : this.asPlain(text);
    if (values) {
      for (const [name, written] of Object.entries(values)) {
        const field = this.field(name);
        if (field && field.data !== written) field.data = written;
      }
      this.plain?.remove();
      this.plain = null;
    }
    this.apply();
  }

  hide(hidden) {
    this.hidden = hidden;
    this.apply();
  }

  apply() {
    this.pre.hidden = this.hidden || this.current !== this.pre;
    if (this.plain) this.plain.hidden = this.hidden;
  }

  // Where the section lies in a text: the same place, grown or shrunk by the edits; null when the edits reach beyond it.
  sectionOf(text) {
    if (!this.section) return null;
    const { original, section } = this;
    const [before, after] = [original.slice(0, section.from), original.slice(section.to)];
    const inside = text.startsWith(before) && text.endsWith(after) && text.length >= before.length + after.length;
    return inside ? { from: before.length, to: text.length - after.length } : null;
  }

  asPlain(text) {
    const section = this.sectionOf(text) ?? { from: 0, to: text.length };
    this.firstLine = text.slice(0, section.from).split("\n").length;
    this.plain ??= make("pre", { class: "run-plain" });
    const code = make("code", { tabindex: "0" });
    code.append(...text.slice(section.from, section.to).split("\n").map((line) => make("span", {}, `${line}\n`)));
    this.plain.replaceChildren(code);
    this.pre.after(this.plain);
    return this.plain;
  }

  // Mark a line of the file, or none.
  mark(line) {
    for (const marked of this.pre.parentElement.querySelectorAll(".run-failed")) marked.classList.remove("run-failed");
    if (!line) return;
    if (this.plain) this.plain.querySelector(`code > span:nth-child(${line - this.firstLine + 1})`)?.classList.add("run-failed");
    else if (this.section) {
      const first = this.original.slice(0, this.section.from).split("\n").length;
      this.code.querySelector(`[id$="-${line - first + 1}"]`)?.classList.add("run-failed");
    }
  }

  // The text node that holds a parameter's value and nothing else, cut out of the highlighted code.
  field(name) {
    if (!this.fields.has(name)) {
      const found = place(this.code.textContent, name);
      this.fields.set(name, found ? cut(this.code, found.from, found.to) : null);
    }
    return this.fields.get(name);
  }
}

function cut(root, from, to) {
  let at = 0;
  let kept = null;
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const [begin, end] = [at, at + node.data.length];
    at = end;
    if (end <= from || begin >= to) continue;
    if (begin < from) {
      node.splitText(from - begin);
      at = from;
      continue;
    }
    if (end > to) {
      node.splitText(to - begin);
      at = to;
    }
    if (!kept) kept = node;
    else {
      kept.data += node.data;
      node.data = "";
    }
  }
  return kept;
}
