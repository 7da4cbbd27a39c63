// The switch of colours. What is shown is the page's own script's to say (theme/partials/javascripts/palette.html): it runs before this one.
export function palette() {
  const inputs = [...document.querySelectorAll("[name=__palette]")];
  const { body } = document;
  for (const [index, input] of inputs.entries()) {
    input.addEventListener("change", () => {
      window.__md_set("__palette", { index });
      body.setAttribute("data-md-color-switching", "");
      window.showColours();
      getComputedStyle(body).color; // so that the change is made while nothing may fade
      body.removeAttribute("data-md-color-switching");
    });
    input.addEventListener("keydown", ({ key }) => {
      if (key !== "Enter") return;
      const next = inputs[(index + 1) % inputs.length];
      next.click();
      next.focus();
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", window.showColours);
}
