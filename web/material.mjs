// Material's stylesheets without what this site never shows: half of a first view's styles.
// unused.json says what that is and why; a test looks for its classes in the built pages.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import postcss from "postcss";
import parser from "postcss-selector-parser";

const TABS = 8;
const folder = process.argv[2];
const unused = Object.keys(JSON.parse(readFileSync(new URL("unused.json", import.meta.url)))).map((pattern) => new RegExp(pattern));
const text = ["main", "palette"]
  .map((name) => readdirSync(folder).find((file) => file.startsWith(`${name}.`) && file.endsWith(".css")))
  .map((file) => readFileSync(join(folder, file), "utf8"))
  .join("\n");
// Tables have a class here, which keeps Material's script from wrapping them; its styles are for those without.
// The parts of tabs get a name: a browser tries a rule for just any child on every element, and again wherever a script puts one in.
const sheet = postcss.parse(
  text
    .replace(/\/\*#[^*]*\*\//g, "")
    .replaceAll("table:not([class])", "table")
    .replace(/(\.tabbed-labels ?> ?)(?=:)/g, "$1label")
    .replace(/(\.tabbed-content ?> ?)(?=:)/g, "$1.tabbed-block"),
);

sheet.walkRules((rule) => {
  if (rule.parent.name?.endsWith("keyframes")) return;
  const kept = parser((selectors) => {
    for (const selector of selectors.nodes.filter(dropped)) selector.remove();
  }).processSync(rule.selector, { lossless: false });
  if (kept) rule.selector = kept;
  else rule.remove();
});
dropUnnamedProperties();
sheet.walkAtRules((rule) => rule.nodes?.length === 0 && rule.remove());
process.stdout.write(sheet.toString());

// A selector is of no use if it asks for an unused class, for text from right to left, for a table that sorts, for a colour that the site does not offer,
// or for more tabs than a set here has.
// What follows a table: here each table is alone in its box, and the rule would be tried wherever a script moves an element.
function dropped(selector) {
  let found = /table ?\+ ?\*$/.test(selector.toString());
  selector.walk((node) => {
    // What stands inside :not() is what a rule does without.
    if (node.parent.parent?.type === "pseudo" && node.parent.parent.value === ":not") return;
    if (node.value === ":nth-child") found ||= Number(node.nodes[0]) > TABS;
    if (node.type === "class") found ||= unused.some((pattern) => pattern.test(node.value));
    if (node.type === "attribute") found ||= (node.attribute === "dir" && node.value === "rtl") || (node.attribute === "role" && node.value === "columnheader") || /^data-md-color-(primary|accent)$/.test(node.attribute);
  });
  return found;
}

// Icons and colours that only the dropped rules named; twice, since one may name another.
function dropUnnamedProperties() {
  for (let turn = 0; turn < 2; turn++) {
    const named = new Set([...sheet.toString().matchAll(/var\((--[\w-]+)/g)].map((match) => match[1]));
    sheet.walkDecls(/^--/, (declaration) => {
      if (!named.has(declaration.prop) && declaration.value.startsWith("url(")) declaration.remove();
    });
    sheet.walkRules((rule) => rule.nodes.length === 0 && rule.remove());
  }
}
