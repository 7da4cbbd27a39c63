// The worker in which a snippet's Python runs. It has an opaque origin and a policy without any network; all that it needs comes by message.
import "./worker-scope.js";
import { loadPyodide } from "pyodide/pyodide.mjs";
import createPyodideModule from "pyodide/pyodide.asm.mjs";

const LARGEST = 512 * 1024 * 1024; // bytes of memory; a snippet that wants more gets a MemoryError
const NOWHERE = "https://runtime.invalid/"; // where the runtime believes to lie; nothing is asked of it
let python, runner;

// The runtime asks for two files; it gets what the page handed in. Afterwards fetch is the browser's own, which the policy refuses.
async function start({ module, library, snapshot }) {
  const { fetch } = self;
  const { instantiateStreaming } = WebAssembly;
  self.fetch = async (address) => new Response(String(address).endsWith(".zip") ? library : null);
  WebAssembly.instantiateStreaming = async (_, imports) => {
    const grow = imports.env.emscripten_resize_heap;
    imports.env.emscripten_resize_heap = (size) => (size >>> 0 > LARGEST ? 0 : grow(size));
    return { module, instance: await WebAssembly.instantiate(module, imports) };
  };
  python = await loadPyodide({
    createPyodideModule,
    indexURL: NOWHERE,
    packageBaseUrl: NOWHERE,
    lockFileContents: { info: LOCK_INFO, packages: {} }, // no package to load; LOCK_INFO: set by scripts/run_build.py
    env: { PYTHONHASHSEED: "0", HOME: "/snippet" },
    ...(snapshot ? { _loadSnapshot: snapshot } : { _makeSnapshot: true }),
  });
  self.fetch = fetch;
  WebAssembly.instantiateStreaming = instantiateStreaming;
  if (!snapshot) {
    // What snippets use most is imported once, before the snapshot.
    python.runPython("import _warpwise, datetime, decimal, fractions, html, random, statistics, struct");
    const made = python.makeMemorySnapshot();
    postMessage({ snapshot: made }, [made.buffer]);
  }
  for (const name of ["stdout", "stderr"]) {
    const decoder = new TextDecoder();
    const write = (bytes) => (postMessage({ text: decoder.decode(bytes, { stream: true }), stream: name === "stdout" ? "out" : "err" }), bytes.length);
    python[name === "stdout" ? "setStdout" : "setStderr"]({ write });
  }
  python.registerJsModule("js", self); // a snapshot's own is a likeness on which getters throw
  delete self.Worker; // one in here would outlive the run
  runner = python.pyimport("_warpwise").run;
}

onmessage = async ({ data }) => {
  try {
    if (data.module) {
      await start(data);
      postMessage({ ready: true });
    } else if (data.ask) {
      postMessage({ ready: true });
    } else {
      const result = runner(data.job, (stream, text) => postMessage({ stream, text }));
      postMessage({ result });
    }
  } catch (error) {
    postMessage({ broken: String(error?.message ?? error) });
  }
};
