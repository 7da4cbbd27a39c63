// The root's 404 page carries both languages; where the address tells which one was meant, the other is hidden.
export function fourOhFour() {
  const sections = document.querySelectorAll("[data-404]");
  if (sections.length < 2) return;
  const base = new URL(JSON.parse(document.getElementById("__config").textContent).base.replace(/\/?$/, "/"), location);
  const meant = location.pathname.startsWith(`${base.pathname}en/`) ? "en" : "zh";
  for (const section of sections) section.hidden = section.dataset["404"] !== meant;
  document.documentElement.lang = meant;
}
