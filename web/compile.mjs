// Compile the standard library for the page's Python, with that Python: reads a zip of sources, writes a zip of .pyc files.
//   node compile.mjs COMPILER.py LIBRARY.zip COMPILED.zip MODULE.py...
import { readFileSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { loadPyodide } from "pyodide";

const [compiler, library, target, ...added] = process.argv.slice(2);
// A fixed hash seed: the order of a set of strings would reach the bytes.
const python = await loadPyodide({ env: { PYTHONHASHSEED: "0" } });
python.runPython(readFileSync(compiler, "utf8"));
const sources = Object.fromEntries(added.map((path) => [basename(path, ".py"), readFileSync(path, "utf8")]));
python.FS.writeFile("/library.zip", readFileSync(library));
const compiled = python.globals.get("compiled")("/library.zip", python.toPy(sources)).toJs();
writeFileSync(target, compiled);
