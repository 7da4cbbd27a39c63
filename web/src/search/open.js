// The button, the keys and the address that open the search. The dialog stands at once, so that no letter is lost; the rest is fetched then.
import { marksAsked } from "./arrived.js";

export function offerSearch() {
  const button = document.querySelector("[data-search]");
  if (!button || typeof HTMLDialogElement !== "function") return;
  const address = (name) => new URL(button.dataset[name], location).href;
  let dialog;
  let code;

  const open = async (query) => {
    dialog ??= made(button);
    const input = dialog.querySelector("input");
    if (!dialog.open) dialog.showModal();
    if (query !== undefined) input.value = query;
    input.focus();
    input.select();
    code ??= import(address("search")).then(({ attach }) => attach(dialog, { folder: address("index"), language: button.dataset.language, other: address("other") }));
    try {
      (await code)();
    } catch {
      code = undefined; // no network: the next opening asks again
      dialog.dataset.state = "failed";
      dialog.querySelector(".search-notes").textContent = button.dataset.failed;
    }
  };

  button.addEventListener("click", () => open());
  addEventListener("keydown", (event) => {
    const both = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key?.toLowerCase() === "k";
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!(both || (slash && !isEditing(event))) || event.isComposing) return;
    event.preventDefault();
    open();
  });
  const asked = new URLSearchParams(location.search);
  if (asked.has("q")) open(asked.get("q"));
  marksAsked(address("search"));
}

const isEditing = (event) => event.composedPath().some((element) => element.matches?.("input, textarea, select, [contenteditable]:not([contenteditable=false])"));

function made(button) {
  const { label, hint, close, language } = button.dataset;
  const dialog = document.createElement("dialog");
  dialog.className = "search";
  dialog.setAttribute("aria-label", label);
  dialog.dataset.state = "idle";
  // The texts are this site's own, without signs of HTML.
  dialog.innerHTML = `<form class="search-bar" role="search"><input type="search" name="q" aria-label="${label}" placeholder="${hint}" autocomplete="off" autocapitalize="off" autocorrect="off" spellcheck="false" enterkeyhint="go"><button type="button" class="search-close">${close}</button></form><div class="search-body"><p class="search-status" role="status"></p><div class="search-notes"></div><ol class="search-results"></ol></div>`;
  dialog.lang = language;
  document.body.append(dialog);
  dialog.querySelector("form").addEventListener("submit", (event) => event.preventDefault());
  dialog.querySelector(".search-close").addEventListener("click", () => dialog.close());
  // A field of this kind would take the key to empty itself.
  dialog.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.isComposing) return;
    event.preventDefault();
    dialog.close();
  });
  // Outside of its box a press closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  dialog.addEventListener("close", () => {
    const address = new URL(location);
    if (address.searchParams.has("q")) {
      address.searchParams.delete("q");
      history.replaceState(history.state, "", address);
    }
    // The browser gives the focus back to where it was; where it was nowhere, the button has it.
    if (document.activeElement === document.body) button.focus({ preventScroll: true });
  });
  return dialog;
}
