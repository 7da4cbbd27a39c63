// What the buttons do, loaded on the first press of one: a page's blocks share one Python.
import { Block } from "./block.js";
import { onPaletteChange } from "./picture.js";
import { Runtime } from "./runtime.js";

const beside = (name) => new URL(FILES[name], import.meta.url).href; // FILES: set by scripts/run_build.py
const runtime = new Runtime({ runner: beside("runner.htm"), python: beside("python.bin"), size: FILES.size });
const blocks = new Map();
const styled = new Promise((resolve) => {
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = beside("run.css");
  link.onload = link.onerror = resolve;
  document.head.append(link);
});
const shared = { runtime, loadEditor: () => import(beside("editor.js")) };

// Do what a button says: run, stop, edit, reset, copy, download, share; a control's move; or show an earlier edit, or a link's code.
export async function act(element, action, value) {
  await styled;
  if (!blocks.has(element)) blocks.set(element, Block.of(element, shared));
  try {
    const block = await blocks.get(element);
    await block[action](value);
  } catch (error) {
    blocks.delete(element); // made anew at the next press
    throw error;
  }
}

onPaletteChange(async () => {
  for (const block of await Promise.all(blocks.values())) block.redraw();
});
