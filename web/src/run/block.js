// One runnable block: its text, how it is shown, and its runs. The element's data-state says where it is:
// idle, loading, running, done, failed or stopped.
import { linkTo, linked } from "./link.js";
import { isLinked, keyOf, loadedKey, make, recalled, remember } from "./offer.js";
import { OutputView } from "./output.js";
import { isAllowed, read, show, write } from "./parameters.js";
import { StaticCode } from "./static.js";
import { isKept } from "./runtime.js";
import { language, offered, told, words as allWords } from "./words.js";

const LIMIT = 10_000; // ms that a run may take
const PATIENCE = 300; // ms before a button to stop appears
const LONGEST_EDIT = 200_000; // characters that are kept on the device

export class Block {
  static async of(element, shared) {
    const response = await fetch(element.dataset.files);
    if (!response.ok) throw new Error(`${element.dataset.files}: ${response.status}`);
    return new Block(element, shared, await response.json());
  }

  constructor(element, { runtime, loadEditor }, files) {
    this.element = element;
    this.runtime = runtime;
    this.loadEditor = loadEditor;
    this.files = files;
    this.name = element.dataset.snippet.split("/").pop();
    this.words = { ...offered[language()], ...allWords[language()] };
    this.original = files[this.name];
    this.text = this.original;
    this.static = new StaticCode(element, this.original);
    this.output = new OutputView(element, this.words);
    this.notice = make("p", { class: "run-notice" }, this.words.foreign); // above code that is not this site's
    this.static.pre.before(this.notice);
    this.status = element.querySelector(".run-status");
    this.progress = make("progress", { "aria-label": this.words.loading });
    this.counted = make("span", { class: "run-counted", "aria-hidden": "true" });
    this.progress.hidden = true;
    this.status.before(this.progress, this.counted);
    this.controls = [...element.querySelectorAll(".run-controls [data-name]")];
    this.parameters = [...element.querySelectorAll("[data-parameter]")].map((item) => JSON.parse(item.dataset.parameter));
    this.foreign = false; // whether the code came with a link
    this.running = false;
    this.changed();
  }

  button(action) {
    return this.element.querySelector(`[data-action=${action}]`);
  }

  set state(state) {
    this.element.dataset.state = state;
  }

  say(sentence) {
    this.status.textContent = sentence;
  }

  // -- Running

  async run() {
    if (this.running) {
      this.again = true; // the newest text runs when this run is over
      return;
    }
    if (!this.runtime.loaded && !(await this.loads())) return;
    this.running = true;
    try {
      do {
        this.again = false;
        await this.runOnce();
      } while (this.again);
    } catch (error) {
      this.state = "failed";
      this.say(told(this.words.notLoaded, error.message));
    } finally {
      this.stopDisappears();
      this.running = false;
    }
  }

  async runOnce() {
    const { runtime, words, text } = this;
    this.state = "running";
    this.say("");
    const patience = setTimeout(() => (this.say(words.running), this.stopAppears("stop")), PATIENCE);
    this.output.begin();
    this.mark(null);
    const draw = this.element.dataset.draw ?? null;
    const job = { files: { ...this.files, [this.name]: text }, script: this.name, draw };
    const result = await runtime.run(this, job, (stream, piece) => this.output.take(stream, piece), LIMIT).finally(() => clearTimeout(patience));
    this.stopDisappears();
    if ((this.foreign || result.failed?.reason === "memory") && !result.stopped) runtime.release();
    this.output.end(result.cut);
    if (result.stopped) {
      this.again = false;
      this.state = "stopped";
      this.say(words.stopped[result.stopped]);
      return;
    }
    await this.output.draw(result.svg, told(words.picture, draw));
    if (result.failed) this.failed(result.failed);
    else this.finished(result.seconds);
  }

  finished(seconds) {
    const { words } = this;
    const took = seconds < 1 ? told(words.milliseconds, Math.max(1, Math.round(seconds * 1000))) : told(words.seconds, seconds.toFixed(1));
    const pristine = this.text === this.original;
    this.state = "done";
    this.say(told(!pristine ? words.done : this.output.equalsRecorded() ? words.same : words.differs, took));
  }

  failed({ reason, name, line }) {
    const { words } = this;
    this.state = "failed";
    this.mark(line);
    this.say(reason === "exit" ? words.exit : line ? told(words.failedAt, this.name, line) : words.failed);
    if (Object.hasOwn(words.reasons, reason)) this.output.explain(told(words.reasons[reason], name));
  }

  stop() {
    this.again = false;
    if (this.loading) this.loading.abort();
    else this.runtime.stop();
  }

  // Load Python and the editor, once for the page. Tells whether they are there.
  async loads() {
    const { runtime, words } = this;
    if (this.loading) return false;
    const size = this.element.dataset.size;
    if (navigator.connection?.saveData && !this.asked && !(await isKept(runtime.python))) {
      this.asked = true;
      this.button("run").firstChild.data = words.anyway;
      this.say(told(words.saving, size));
      return false;
    }
    this.button("run").firstChild.data = words.run;
    this.loading = new AbortController();
    this.state = "loading";
    this.say(words.loading);
    this.stopAppears("cancel");
    this.progress.hidden = false;
    this.progress.removeAttribute("value");
    try {
      await runtime.load((count) => this.count(count), this.loading.signal);
      this.loading.signal.throwIfAborted();
      for (const other of document.querySelectorAll("[data-action=run] small")) other.remove();
      remember(loadedKey(this.element), runtime.python);
      this.loadEditor().catch(() => {}); // ready when the reader wants it
      return true;
    } catch (error) {
      const cancelled = this.loading.signal.aborted;
      this.state = cancelled ? "idle" : "failed";
      this.say(cancelled ? "" : told(words.notLoaded, error.message));
      return false;
    } finally {
      this.loading = null;
      this.progress.hidden = true;
      this.counted.textContent = "";
      this.stopDisappears();
    }
  }

  count(bytes) {
    if (bytes === null) {
      this.say(this.words.starting);
      this.counted.textContent = "";
      this.progress.removeAttribute("value");
      return;
    }
    this.progress.max = this.runtime.size;
    this.progress.value = bytes;
    const megabytes = (count) => (count / 1e6).toFixed(1);
    this.counted.textContent = told(this.words.progress, megabytes(bytes), megabytes(this.runtime.size));
  }

  stopAppears(word) {
    const [run, stop] = [this.button("run"), this.button("stop")];
    stop.textContent = this.words[word];
    stop.hidden = false;
    const focused = document.activeElement === run;
    run.hidden = true;
    if (focused) stop.focus();
  }

  stopDisappears() {
    const [run, stop] = [this.button("run"), this.button("stop")];
    if (stop.hidden) return;
    const focused = document.activeElement === stop;
    run.hidden = false;
    stop.hidden = true;
    if (focused) run.focus();
  }

  redraw() {
    this.output.redraw();
  }

  mark(line) {
    this.editor?.mark(line);
    this.static.mark(line);
  }

  // -- The text

  // Take a new text, from the editor or elsewhere, and show it wherever it is not shown yet.
  take(text, { fromEditor = false } = {}) {
    this.text = text;
    if (!fromEditor) this.editor?.setText(text);
    this.keep();
    this.changed();
  }

  changed() {
    const values = read(this.text, this.parameters);
    for (const control of this.controls) {
      const written = values[control.dataset.name];
      control.disabled = written === undefined;
      if (written !== undefined) show(control, written);
    }
    const onlyValues = Object.entries(values).reduce((text, [name, written]) => write(text, name, written), this.original) === this.text;
    this.static.show(this.text, onlyValues ? values : null);
    this.onlyValues = onlyValues;
    this.button("reset").hidden = this.text === this.original;
    if (this.text === this.original) this.foreign = false;
    this.notice.hidden = !this.foreign;
  }

  // A control was moved.
  async move({ name, written }) {
    this.take(write(this.text, name, written));
    if (this.runtime.loaded) await this.run();
    else this.say(this.words.moved);
  }

  async edit() {
    if (this.editor) {
      steady(this.button("edit"), () => this.closeEditor());
      return;
    }
    const { openEditor } = await this.loadEditor();
    if (!this.editor) steady(this.button("edit"), () => this.open(openEditor)); // else it was pressed twice
  }

  open(openEditor) {
    const host = make("div", { class: "run-editor" });
    this.static.hide(true);
    this.element.querySelector(".run-bar").before(host);
    this.editor = openEditor(host, {
      text: this.text,
      section: this.static.sectionOf(this.text),
      words: this.words,
      name: this.name,
      onChange: (text) => this.take(text, { fromEditor: true }),
      onRun: () => this.run(),
      onLeave: () => this.button("run").focus(),
    });
    this.host = host;
    this.button("edit").textContent = this.words.close;
    this.button("edit").setAttribute("aria-expanded", "true");
  }

  closeEditor() {
    this.editor.close();
    this.host.remove();
    this.editor = this.host = null;
    this.static.hide(false);
    this.button("edit").textContent = this.words.edit;
    this.button("edit").setAttribute("aria-expanded", "false");
    this.changed();
  }

  reset() {
    this.take(this.original);
    this.output.reset();
    this.mark(null);
    this.state = "idle";
    this.say("");
    if (isLinked(this.element)) history.replaceState(null, "", location.pathname + location.search);
    this.button("run").focus();
  }

  // -- Keeping and sharing

  keep() {
    if (this.text.length > LONGEST_EDIT) return;
    remember(keyOf(this.element), this.text === this.original ? null : JSON.stringify({ of: this.version, text: this.text }));
  }

  get version() {
    return this.element.dataset.files.split("/").pop();
  }

  restore() {
    let kept;
    try {
      kept = JSON.parse(recalled(keyOf(this.element)));
    } catch {
      return; // not what this page wrote
    }
    if (typeof kept?.text !== "string" || kept.text === this.original) return;
    this.text = kept.text;
    this.changed();
    this.say(kept.of === this.version ? this.words.restored : this.words.outdated);
  }

  // Show what the address's fragment carries; nothing of it runs before the reader presses.
  async link() {
    let found;
    try {
      found = await linked();
    } catch {
      this.say(this.words.badLink);
      return;
    }
    let text = found.text ?? this.original;
    for (const parameter of this.parameters) {
      const written = found.values[parameter.name];
      if (written !== undefined && isAllowed(parameter, written)) text = write(text, parameter.name, written);
    }
    if (this.running) this.stop();
    this.text = text;
    this.editor?.setText(text);
    this.changed();
    this.output.reset();
    this.state = "idle";
    this.foreign = !this.onlyValues;
    this.notice.hidden = !this.foreign;
    if (text !== this.original) this.say(this.foreign ? this.words.fromLink : this.words.numbersFromLink);
    this.element.scrollIntoView({ block: "start" });
  }

  async share() {
    const address = await linkTo(this.element.dataset.snippet, this.onlyValues ? this.differing() : {}, this.onlyValues ? undefined : this.text);
    await this.toClipboard(address, this.words.linked);
  }

  differing() {
    const before = read(this.original, this.parameters);
    return Object.fromEntries(Object.entries(read(this.text, this.parameters)).filter(([name, written]) => before[name] !== written));
  }

  copy() {
    return this.toClipboard(this.text, this.words.copied);
  }

  async toClipboard(text, sentence) {
    try {
      await navigator.clipboard.writeText(text);
      this.say(sentence);
    } catch {
      // Not allowed here: the reader copies it.
      const field = make("input", { readonly: "", "aria-label": this.words.link, class: "run-link" });
      field.value = text;
      this.status.replaceChildren(field);
      field.select();
    }
  }

  download() {
    const address = URL.createObjectURL(new Blob([this.text], { type: "text/x-python" }));
    make("a", { href: address, download: this.name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }
}

// Change the page above a button, and keep the button where the reader sees it.
function steady(button, change) {
  const before = button.getBoundingClientRect().top;
  change();
  scrollBy({ top: button.getBoundingClientRect().top - before, behavior: "instant" });
}
