// Python in the page: loads it, starts it in its frame, gives it jobs one after the other, ends it when it does not end.
// A worker serves one block at a time; another block gets a new one, so that no snippet finds what another one left.

const READY_WITHIN = 20000; // ms; a frame or a worker that takes longer is replaced
const ANSWERS_WITHIN = 1000; // ms; a worker that has given its result and does not answer then is still running something

export class Runtime {
  port = null;
  owner = null;
  ready = null; // a promise of the worker's being ready
  current = null; // what the run at the moment waits for
  turn = 0; // which worker it is, counted from the start
  queue = Promise.resolve(); // the runs, one after the other

  // address: of the runner's page; python: of the packed runtime, of so many bytes compressed.
  constructor({ runner, python, size }) {
    Object.assign(this, { runner, python, size });
  }

  get loaded() {
    return Boolean(this.port);
  }

  // Load and start everything; progress is called with the bytes that are here, then with null while Python starts.
  // Of several blocks that ask, the first one's progress and signal count.
  load(progress, signal) {
    this.pending ??= this.#load(progress, signal).finally(() => (this.pending = null));
    return this.pending;
  }

  async #load(progress, signal) {
    const frame = this.#frame(signal);
    frame.catch(() => {}); // awaited below; a failed download comes first
    try {
      const parts = await unpacked(await packed(this.python, progress, signal));
      progress(null);
      this.port = await frame;
      signal.throwIfAborted();
      this.port.onmessage = ({ data }) => this.#heard(data);
      this.turn += 1;
      this.#expectReady(READY_WITHIN);
      this.#order({ order: "load", ...parts, turn: this.turn });
      await this.ready;
      signal.throwIfAborted();
    } catch (error) {
      this.#drop();
      throw error;
    }
  }

  #drop() {
    this.element?.remove();
    this.port = this.element = this.owner = null;
  }

  // Run a job for a block: take(stream, text) gets the output. Gives the result, or {stopped: "reader" | "time" | "flood" | "broken"}.
  // Another block's run is stopped for it.
  run(owner, job, take, limit) {
    if (this.owner !== owner) this.stop();
    this.queue = this.queue.catch(() => {}).then(() => this.#run(owner, job, take, limit));
    return this.queue;
  }

  async #run(owner, job, take, limit) {
    if (this.owner && this.owner !== owner) this.#restart();
    this.owner = owner;
    await this.#readyOrAnew();
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#end("time"), limit);
      this.current = { take, resolve: (found) => (clearTimeout(timer), (this.current = null), resolve(found)) };
      this.#order({ order: "run", job: JSON.stringify(job) });
    });
  }

  stop() {
    if (this.current) this.#end("reader");
  }

  // End the worker after a run that may leave something behind: foreign code, or a full memory.
  release() {
    this.#restart();
    this.owner = null;
  }

  #end(why) {
    const { current } = this;
    this.#restart();
    current?.resolve({ stopped: why });
  }

  #restart(plain = false) {
    this.turn += 1;
    this.#expectReady(READY_WITHIN);
    this.#order({ order: "restart", plain, turn: this.turn });
  }

  // The worker as it is; else one from the snapshot; else one without it; else everything anew.
  async #readyOrAnew() {
    for (const plain of [false, true]) {
      try {
        return await this.ready;
      } catch {
        this.#restart(plain);
      }
    }
    try {
      return await this.ready;
    } catch {
      this.#drop();
      return this.load(() => {}, new AbortController().signal);
    }
  }

  #expectReady(within) {
    const { turn } = this;
    this.ready = new Promise((resolve, reject) => {
      const timer = setTimeout(() => turn === this.turn && reject(new Error("Python does not answer")), within);
      const settle = (how) => (value) => (clearTimeout(timer), how(value));
      this.started = { resolve: settle(resolve), reject: settle(reject) };
    });
    this.ready.catch(() => {}); // who waits for it hears it; nobody may be waiting now
  }

  // A worker's words may have been forged by the snippet in it: they decide about its own output and nothing else, and are taken as text.
  #heard({ turn, flooded, worker }) {
    if (turn !== this.turn) return; // of one that was ended
    if (flooded) this.#end("flood");
    else if (worker?.ready) this.started.resolve();
    else if (typeof worker?.broken === "string") {
      this.started.reject(new Error(worker.broken));
      if (this.current) this.#end("broken");
    } else if (typeof worker?.text === "string") this.current?.take(worker.stream === "err" ? "err" : "out", worker.text);
    else if (typeof worker?.result === "string" && this.current) {
      this.#expectReady(ANSWERS_WITHIN);
      this.ready.catch(() => turn === this.turn && this.#restart());
      this.#order({ order: "ask" });
      this.current.resolve(understood(worker.result));
    }
  }

  #order(message) {
    this.port.postMessage(message);
  }

  async #frame(signal) {
    const element = document.createElement("iframe");
    element.hidden = true;
    element.title = "Python";
    element.src = this.runner;
    const loaded = new Promise((resolve, reject) => {
      element.onload = resolve;
      setTimeout(() => reject(new Error("the frame does not load")), READY_WITHIN);
    });
    document.body.append(element);
    this.element = element;
    await loaded;
    const { port1, port2 } = new MessageChannel();
    // Throws where an error page came instead, as that is of another origin.
    element.contentWindow.frames[0].postMessage(null, "*", [port2]);
    return port1;
  }
}

// The packed runtime's bytes, from the cache that this device keeps or else from the site, counted as they come.
async function packed(address, progress, signal) {
  const kept = await cached();
  const found = await kept?.match(address);
  const response = found ?? (await fetch(address, { signal }));
  if (!response.ok) throw new Error(`${response.status}`);
  const chunks = [];
  let count = 0;
  for (const reader = response.body.getReader(); ; ) {
    const { done, value } = await reader.read();
    signal.throwIfAborted();
    if (done) break;
    chunks.push(value);
    if (!found) progress((count += value.length));
  }
  const bytes = new Blob(chunks);
  if (!found) kept?.put(address, new Response(bytes, { headers: { "Content-Type": "application/octet-stream" } })).catch(() => {});
  return bytes;
}

// The cache is shared with the service worker, sw.js, which names it in the same way.
async function cached() {
  try {
    const registration = await navigator.serviceWorker?.getRegistration();
    return registration && (await caches.open(`warpwise ${registration.scope}`));
  } catch {
    return undefined; // no storage here, as in some private windows
  }
}

export async function isKept(address) {
  return Boolean(await (await cached())?.match(address));
}

async function unpacked(blob) {
  const zipped = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
  const isGzip = zipped[0] === 0x1f && zipped[1] === 0x8b; // a host may have undone it already
  const bytes = await new Response(isGzip ? blob.stream().pipeThrough(new DecompressionStream("gzip")) : blob).arrayBuffer();
  const head = new Uint8Array(bytes, 0, 200).indexOf(10);
  const lengths = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 0, head)));
  let from = head + 1;
  return Object.fromEntries(Object.entries(lengths).map(([name, length]) => [name, bytes.slice(from, (from += length))]));
}

// A result, as far as it is one.
function understood(text) {
  try {
    const { seconds, cut, svg, failed } = JSON.parse(text);
    return {
      seconds: Number(seconds),
      cut: Boolean(cut),
      svg: typeof svg === "string" ? svg : null,
      failed: failed ? { reason: String(failed.reason), name: String(failed.name ?? ""), line: Number(failed.line) || null } : null,
    };
  } catch {
    return { stopped: "broken" };
  }
}
