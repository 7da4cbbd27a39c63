// The script of the sandboxed frame: starts and ends the worker for the page, and passes its words along.
// It runs in an opaque origin. What a worker says may be forged by the snippet in it: it is counted and marked as the worker's.
const MOST = 2000; // of what one run may say: an honest one says at most a few hundred short things
let port, parts, worker, snapshot, said, turn;

function start(next) {
  turn = next;
  said = 0;
  let beforeAnySnippet = !snapshot;
  worker = new Worker(parts.address);
  worker.onmessage = ({ data }) => {
    if (data?.snapshot instanceof Uint8Array && beforeAnySnippet && !worker.used) {
      snapshot = data.snapshot;
      beforeAnySnippet = false;
      return;
    }
    said += typeof data?.text === "string" ? 1 + data.text.length / 5000 : typeof data?.result === "string" || data?.ready ? 1 : MOST / 20;
    if (said <= MOST) {
      port.postMessage({ turn, worker: data });
    } else {
      worker.terminate();
      port.postMessage({ turn, flooded: true });
    }
  };
  worker.onerror = (event) => port.postMessage({ turn, worker: { broken: String(event.message) } });
  worker.postMessage({ module: parts.module, library: parts.library, snapshot });
}

const orders = {
  async load({ wasm, library, worker: source, turn: next }) {
    parts = { library, address: URL.createObjectURL(new Blob([source], { type: "text/javascript" })), module: await WebAssembly.compile(wasm) };
    start(next);
  },
  run({ job }) {
    said = 0;
    worker.used = true;
    worker.postMessage({ job });
  },
  // A worker that says that it is done, and is not, does not hear this.
  ask() {
    worker.postMessage({ ask: true });
  },
  restart({ plain, turn: next }) {
    worker.terminate();
    if (plain) snapshot = undefined;
    start(next);
  },
};

// The first message brings the port; nobody else can send one before, as nothing else runs here yet.
addEventListener(
  "message",
  (event) => {
    port = event.ports[0];
    port.onmessage = async ({ data }) => {
      try {
        await orders[data.order](data);
      } catch (error) {
        port.postMessage({ turn: data.turn ?? turn, worker: { broken: String(error?.message ?? error) } });
      }
    };
  },
  { once: true },
);
