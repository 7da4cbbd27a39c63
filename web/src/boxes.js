// A box that scrolls sideways can be reached and moved with the keyboard.
// Each is taken to scroll until the reader comes near: asking for the size of all at once would lay out the whole page.
export function scrollBoxes() {
  const update = (box) => {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  };
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => update(target)));
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        if (!isIntersecting) continue;
        near.unobserve(target);
        sizes.observe(target);
      }
    },
    { rootMargin: "1000px" },
  );
  for (const box of document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset figure, .md-typeset pre > code")) {
    box.tabIndex = 0;
    near.observe(box);
  }
}
