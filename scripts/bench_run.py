"""Measure running in the page, beside stock Pyodide in the same run: waits, and bytes before and after the first press.

    python scripts/bench_run.py [--turns 5]

Needs the built site in site/ (or WARPWISE_SITE) and Chromium (or WARPWISE_CHROMIUM). Medians; run it on a quiet machine.
"""

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page, sync_playwright

from project import ROOT, SNIPPETS, published
from static_server import serving

PAGE, SNIPPET = "en/memory/bank-conflicts/", "bank-conflicts/stride.py"
PLAIN_PAGE = "en/memory/vectorized-access/"  # its first block draws nothing: what a run costs beyond the snippet's own time
PYODIDE = ROOT / "web" / "node_modules" / "pyodide"
REDRAWN_WITHIN = 100  # ms
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]
# What Pyodide's own documentation shows, in a worker of the page's origin.
STOCK_PAGE = """<!doctype html><meta charset=utf-8><title>stock</title>
<script type=module>globalThis.start = () => new Worker('worker.mjs', {type: 'module'})</script>"""
STOCK_WORKER = """import { loadPyodide } from "./pyodide.mjs";
const [python, code] = await Promise.all([loadPyodide(), fetch("snippet.py").then((found) => found.text())]);
python.setStdout({ batched: (text) => postMessage(text) });
python.runPython(code);
"""
STOCK_START = """new Promise((resolve) => {
  const begun = performance.now();
  start().onmessage = () => resolve(performance.now() - begun);
})"""
# From the press to the first text in the output, in ms.
PRESS_TO_OUTPUT = """new Promise((resolve) => {
  const block = document.querySelector('[data-snippet]'), output = block.querySelector("output"), begun = performance.now();
  new MutationObserver(() => output.textContent && !output.hidden && resolve(performance.now() - begun))
    .observe(output, { childList: true, subtree: true, characterData: true, attributes: true });
  block.querySelector("[data-action=run]").click();
})"""
# From the press to the end of the run, less the snippet's own time, in ms.
PRESS_TO_DONE = """new Promise((resolve) => {
  const block = document.querySelector('[data-snippet]'), begun = performance.now();
  new MutationObserver(() => {
    if (block.dataset.state !== "done") return;
    const took = performance.now() - begun;
    queueMicrotask(() => resolve(took - parseFloat(block.querySelector(".run-status").textContent.match(/([\\d.]+) ms/)[1])));
  }).observe(block, { attributes: true, attributeFilter: ["data-state"] });
  block.querySelector("[data-action=run]").click();
})"""
# From the move of a slider to the new picture, in ms, for each of a drag's steps.
DRAG = """(async () => {
  const block = document.querySelector('[data-snippet]');
  const slider = block.querySelector("[data-name=STRIDE]"), image = block.querySelector("output img");
  const waits = [];
  for (let value = 1; value <= 33; value += 1) {
    const before = image.src, begun = performance.now();
    slider.value = value;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    while (image.src === before) await new Promise((resolve) => requestAnimationFrame(resolve));
    waits.push(performance.now() - begun);
  }
  return waits;
})()"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5, help="how often each is measured (5)")
    turns: int = parser.parse_args().turns
    site = Path(os.environ.get("WARPWISE_SITE", ROOT / "site"))
    chromium = os.environ.get("WARPWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright, serving(site, "/warpwise/") as address, stock() as stock_address:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        rows: dict[str, list[float]] = {}
        for _ in range(turns):
            for name, values in turn(browser, address, stock_address):
                rows.setdefault(name, []).extend(values)
        print("| ms, median of the turns (all of them) | |\n|---|---|")
        for name, values in rows.items():
            shown = ", ".join(f"{value:.0f}" for value in values) if len(values) <= turns else moves(values)
            print(f"| {name} | {statistics.median(values):.0f} ({shown}) |")
        print("\n| bytes over the wire | |\n|---|---|")
        for name, size in transfers(browser, address):
            print(f"| {name} | {size:,} |")
        browser.close()


def moves(values: list[float]) -> str:
    """Say how a drag's waits spread."""
    within = sum(value <= REDRAWN_WITHIN for value in values)
    return f"{len(values)} moves, {within} of them within {REDRAWN_WITHIN} ms, longest {max(values):.0f}"


def turn(browser: Browser, address: str, stock_address: str) -> Iterator[tuple[str, list[float]]]:
    """Measure each once, in a browser context without any cache."""
    with fresh(browser) as page:
        page.goto(stock_address)
        yield "stock Pyodide: start to first output, cold", [page.evaluate(STOCK_START)]
    with fresh(browser) as page:
        page.goto(address + PAGE, wait_until="networkidle")
        page.wait_for_timeout(1000)
        yield "press to first output, cold", [page.evaluate(PRESS_TO_OUTPUT)]
        page.wait_for_selector("[data-state=done]")
        page.wait_for_timeout(500)
        yield "slider moved to picture redrawn", page.evaluate(DRAG)
        yield "stop to first output of the next run", [after_kill(page)]
        page.evaluate("localStorage.clear()")
        page.goto(address + PAGE, wait_until="networkidle")
        yield "press to first output, second visit", [page.evaluate(PRESS_TO_OUTPUT)]
        page.goto(address + PLAIN_PAGE, wait_until="networkidle")
        page.evaluate(PRESS_TO_OUTPUT)
        page.wait_for_selector("[data-state=done]")
        page.wait_for_timeout(500)
        yield "warm run, beyond the snippet's own time", [statistics.median(page.evaluate(PRESS_TO_DONE) for _ in range(5))]


def after_kill(page: Page) -> float:
    """Run an endless loop, stop it, run the original: from the stop to its first output, in ms."""
    page.click("[data-action=reset]")
    page.click("[data-action=edit]")
    page.wait_for_selector(".cm-content")
    page.keyboard.press("Control+A")
    page.keyboard.type("while True: pass")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("[data-action=stop]:visible")
    page.wait_for_timeout(500)
    script = """(async () => {
      const begun = performance.now();
      document.querySelector("[data-action=stop]").click();
      while (document.querySelector("[data-snippet]").dataset.state !== "stopped") await new Promise((resolve) => setTimeout(resolve, 1));
      document.querySelector("[data-action=reset]").click();
      while (!document.querySelector("[data-action=reset]").hidden) await new Promise((resolve) => setTimeout(resolve, 1));
      await PRESS;
      return performance.now() - begun;
    })()"""
    found: float = page.evaluate(script.replace("PRESS", PRESS_TO_OUTPUT))
    return found


def transfers(browser: Browser, address: str) -> Iterator[tuple[str, int]]:
    """Count what comes over the wire for a first view, for a press, and for what of it is Python and the editor."""
    with fresh(browser, service_workers="block") as page:
        sizes: dict[str, int] = {}
        names: dict[str, str] = {}
        session = page.context.new_cdp_session(page)
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", lambda event: names.update({event["requestId"]: event["request"]["url"]}))
        session.on("Network.loadingFinished", lambda event: sizes.update({names.get(event["requestId"], "?"): int(event["encodedDataLength"])}))
        page.goto(address + PAGE, wait_until="networkidle")
        page.mouse.wheel(0, 4000)
        page.wait_for_timeout(1000)
        before = dict(sizes)
        yield "a page whose reader never presses Run", sum(before.values())
        yield "... of it Python or the editor", sum(size for name, size in before.items() if "python." in name or "editor." in name)
        page.click("[data-action=run]")
        page.wait_for_selector("[data-state=done]")
        page.wait_for_timeout(1500)
        after = {name: size for name, size in sizes.items() if name not in before and name.startswith("http")}
        yield "after the press, all", sum(after.values())
        for part in ("python", "editor", "run", "runner"):
            yield f"... {part}", sum(size for name, size in after.items() if f"/{part}." in name)


@contextmanager
def fresh(browser: Browser, service_workers: Literal["allow", "block"] = "allow") -> Iterator[Page]:
    """Give a page with empty caches."""
    context = browser.new_context(service_workers=service_workers)
    yield context.new_page()
    context.close()


@contextmanager
def stock() -> Iterator[str]:
    """Serve Pyodide as npm has it, with a page that runs the same snippet."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "python_stdlib.zip"):
            shutil.copy(PYODIDE / name, folder)
        for name in ("index.html", "404.html"):
            Path(folder, name).write_text(STOCK_PAGE, "utf-8")
        Path(folder, "worker.mjs").write_text(STOCK_WORKER, "utf-8")
        Path(folder, "snippet.py").write_text(published(SNIPPETS / SNIPPET), "utf-8")
        with serving(Path(folder), "/") as address:
            yield address


if __name__ == "__main__":
    main()
