// Material asks for its search's index and worker on every page view. Here both wait until the reader opens the search.
let open;
const opened = new Promise((resolve) => (open = resolve));

addEventListener("DOMContentLoaded", () => {
  document.getElementById("__search")?.addEventListener("change", open, { once: true });
  document.forms.namedItem("search")?.addEventListener("focusin", open, { once: true });
  if (new URLSearchParams(location.search).has("q")) open();
});

const stock = { open: XMLHttpRequest.prototype.open, send: XMLHttpRequest.prototype.send };
XMLHttpRequest.prototype.open = function (method, address, ...rest) {
  this.waits = String(address).endsWith("/search_index.json");
  stock.open.call(this, method, address, ...rest);
};
XMLHttpRequest.prototype.send = function (body) {
  if (this.waits) opened.then(() => stock.send.call(this, body));
  else stock.send.call(this, body);
};

const StockWorker = globalThis.Worker;
class WaitingWorker {
  listeners = [];
  constructor(...words) {
    this.words = words;
  }
  postMessage(...words) {
    this.worker ??= this.listeners.reduce(
      (worker, listener) => (worker.addEventListener(...listener), worker),
      new StockWorker(...this.words),
    );
    this.worker.postMessage(...words);
  }
  addEventListener(...listener) {
    this.listeners.push(listener);
    this.worker?.addEventListener(...listener);
  }
  removeEventListener(...listener) {
    this.worker?.removeEventListener(...listener);
  }
  terminate() {
    this.worker?.terminate();
  }
}
if (StockWorker) globalThis.Worker = WaitingWorker;
