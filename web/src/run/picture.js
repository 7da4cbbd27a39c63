// A drawing that a snippet printed, shown as an image: an SVG in an <img> runs no script and asks no address.

const VARIABLE = /var\(\s*(--[\w-]+)\s*(?:,([^()"]*))?\)/g;

// An image knows nothing of the page's variables: their values are written in.
export function coloured(svg, styles = getComputedStyle(document.body)) {
  return svg.replace(VARIABLE, (_, name, fallback) => (styles.getPropertyValue(name).trim() || (fallback ?? "").trim()).replaceAll('"', "'").replaceAll("&", "").replaceAll("<", ""));
}

// An image is XML, where an attribute has a value; the figures of this site carry one that has none in HTML.
const wellFormed = (svg) => svg.replace(/^(\s*<svg\b[^>]*?\sdata-search-exclude)(?=[\s>])/, '$1=""');

// Replace what the image shows once the new one is decoded, so that a drag does not flicker.
export async function showPicture(image, svg) {
  const address = `data:image/svg+xml,${encodeURIComponent(coloured(wellFormed(svg)))}`;
  const next = new Image();
  next.src = address;
  await next.decode();
  const [, width, height] = /viewBox="0 0 ([\d.]+) ([\d.]+)"/.exec(svg) ?? [];
  if (width) [image.width, image.height] = [Number(width), Number(height)];
  image.src = address;
}

// Draw again when the reader changes between light and dark.
export function onPaletteChange(react) {
  new MutationObserver(react).observe(document.body, { attributes: true, attributeFilter: ["data-md-color-scheme"] });
}
