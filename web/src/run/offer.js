// Put the buttons and controls on each runnable block. Everything behind them is loaded when the reader first uses one.
import { language, offered, told } from "./words.js";

export function offerRuns() {
  if (typeof WebAssembly !== "object" || typeof Worker !== "function" || !globalThis.DecompressionStream) return;
  for (const block of document.querySelectorAll("[data-snippet][data-run]")) offer(block);
  const opened = () => {
    for (const block of document.querySelectorAll("[data-snippet][data-state]")) if (isLinked(block)) act(block, "link");
  };
  opened();
  addEventListener("hashchange", opened);
}

const addressOf = (block) => new URL(block.dataset.run, location).href;
const rootOf = (block) => new URL("../../", addressOf(block)).pathname;
export const isLinked = (block) => new URLSearchParams(location.hash.slice(1)).get("run") === block.dataset.snippet;

// What is kept on this device stands under the site's path: two sites of one host do not mix, the two languages share.
export const keyOf = (block) => `${rootOf(block)} run ${block.dataset.snippet}`;
export const loadedKey = (block) => `${rootOf(block)} python`;

export function recalled(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // no storage here, as in some private windows
  }
}

export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // Then it lasts as long as the page.
  }
}

async function act(block, action, value) {
  try {
    const { act: doIt } = await import(addressOf(block));
    await doIt(block, action, value);
  } catch (error) {
    block.querySelector(".run-status").textContent = told(offered[language()].failed, error.message);
  }
}

function offer(block) {
  const words = offered[language()];
  const name = block.dataset.snippet.split("/").pop();
  const bar = make("div", { class: "run-bar", role: "group", "aria-label": told(words.group, name) });
  for (const action of ["run", "stop", "edit", "reset", "copy", "download", "share"]) {
    const button = make("button", { type: "button", class: "run-button", "data-action": action }, words[action]);
    button.hidden = action === "stop" || action === "reset";
    if (action === "run" && !recalled(loadedKey(block))?.endsWith(block.dataset.python)) button.append(make("small", {}, told(words.size, block.dataset.size)));
    if (action === "edit") button.setAttribute("aria-expanded", "false");
    bar.append(button);
  }
  bar.append(make("span", { class: "run-status", role: "status" }));
  block.append(bar);
  const list = controls(block);
  if (list) block.append(list);
  block.append(make("output", { class: "run-output", "aria-label": told(words.output, name), "aria-live": "off" }));
  block.lastChild.hidden = true;
  block.dataset.state = "idle";
  bar.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-action]");
    if (button) act(block, button.dataset.action);
  });
  // What the control says now: what is loaded first shows the value of before.
  list?.addEventListener("input", ({ target }) => {
    act(block, "move", { name: target.dataset.name, written: target.type === "checkbox" ? (target.checked ? "True" : "False") : target.value });
  });
  if (recalled(keyOf(block)) && !isLinked(block)) act(block, "restore");
}

// The list of parameters after the block, as controls; it goes where the hand is, between the code and its output.
function controls(block) {
  let found = block.nextElementSibling;
  while (found && !found.matches("h2, h3, [data-snippet]") && !found.querySelector("[data-parameter]")) found = found.nextElementSibling;
  if (!found?.matches("ul") || !found.querySelector("[data-parameter]")) return undefined;
  found.classList.add("run-controls");
  for (const code of found.querySelectorAll("[data-parameter]")) {
    const item = code.closest("li");
    const { name, value, choices, min, max, step } = JSON.parse(code.dataset.parameter);
    const label = make("label", {});
    label.append(make("span", {}));
    label.firstChild.append(...item.childNodes);
    const control = choices ? make("select", {}) : make("input", typeof value === "boolean" ? { type: "checkbox" } : { type: "range", min, max, step });
    control.append(...(choices ?? []).map((choice) => make("option", {}, choice)));
    control.dataset.name = name;
    if (typeof value === "boolean") control.checked = value;
    else control.value = value;
    label.append(control);
    if (control.type === "range") label.append(make("span", { class: "run-value", "aria-hidden": "true" }, value));
    item.append(label);
  }
  return found;
}

export function make(tag, attributes, text) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
