// What a run printed, in the place of the recorded output. Everything in it is text, or an image.
import { make } from "./offer.js";
import { showPicture } from "./picture.js";

const CUT = 100_000; // characters after which the worker cuts
const LONGEST = CUT + 10_000; // with the traceback; more is a forgery

export class OutputView {
  constructor(element, words) {
    this.words = words;
    this.box = element.querySelector("output");
    this.text = make("span", { class: "run-text" });
    this.image = make("img", { alt: "", class: "run-picture" });
    this.image.hidden = true;
    this.note = make("span", { class: "run-note" });
    this.box.append(this.image, this.text, this.note);
    const next = element.nextElementSibling;
    this.recorded = next?.matches(".output, .language-text") && next.querySelector("pre") ? next : null;
    addEventListener("resize", () => this.reachable(), { passive: true });
    this.recordedText = this.recorded?.querySelector("code").textContent;
  }

  begin() {
    this.fresh = true; // what an earlier run printed stays until there is something new
    this.held = [];
    this.length = 0;
  }

  take(stream, text) {
    const rest = LONGEST - this.length;
    if (rest <= 0) return;
    this.length += text.length;
    this.held.push([stream, text.slice(0, rest)]);
    this.frame ??= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = undefined;
    if (this.fresh) {
      this.fresh = false;
      this.text.replaceChildren();
      this.note.textContent = "";
      this.showing(true);
    }
    for (const [stream, text] of this.held.splice(0)) {
      const last = this.text.lastChild;
      if (last?.dataset.stream === stream) last.append(text);
      else {
        const piece = make("span", { "data-stream": stream }, text);
        this.text.append(piece);
      }
    }
  }

  end(wasCut) {
    this.flush();
    if (wasCut || this.length >= CUT) this.note.textContent = this.words.cut;
    this.reachable();
  }

  // A box that scrolls can be reached with the keyboard.
  reachable() {
    const { box } = this;
    if (box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  explain(sentence) {
    this.note.textContent = [this.note.textContent, sentence].filter(Boolean).join("\n");
  }

  // Show a drawing, or take away an earlier one that no longer belongs to the output.
  async draw(svg, words) {
    this.svg = svg;
    try {
      if (!svg) throw new TypeError("nothing is drawn");
      await showPicture(this.image, svg);
      this.image.alt = words;
      this.image.hidden = false;
      this.reachable();
    } catch {
      this.image.hidden = true;
    }
  }

  redraw() {
    if (this.svg && !this.image.hidden) showPicture(this.image, this.svg).catch(() => {});
  }

  equalsRecorded() {
    return this.recordedText !== undefined && this.text.textContent.trimEnd() === this.recordedText.trimEnd();
  }

  reset() {
    this.text.replaceChildren();
    this.note.textContent = "";
    this.image.hidden = true;
    this.svg = null;
    this.showing(false);
  }

  showing(live) {
    this.box.hidden = !live;
    if (this.recorded) this.recorded.hidden = live;
  }
}
