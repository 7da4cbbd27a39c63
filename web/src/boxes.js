// A box that scrolls sideways can be reached and moved with the keyboard, and says what it is.
export function scrollBoxes() {
  const update = () => {
    for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset figure, .md-typeset pre > code")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1;
      if (scrolls) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  // Material wraps the tables when the page is ready, which is after this.
  addEventListener("load", update);
  addEventListener("resize", update, { passive: true });
}
