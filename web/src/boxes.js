// A box that scrolls sideways can be reached and moved with the keyboard, and says what it is.
export function scrollBoxes() {
  const boxes = document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset figure, .md-typeset pre > code, .lab-output");
  const update = () => {
    for (const box of boxes) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  update();
  addEventListener("resize", update, { passive: true });
}
