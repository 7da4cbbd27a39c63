// The rules that every built page keeps, and why a rule of the standard set is off.
export default {
  extends: ["html-validate:standard"],
  // Material writes an empty tabindex on the label of an open section, which browsers ignore.
  elements: ["html5", { label: { attributes: { tabindex: { enum: ["", "0"] } } } }],
  rules: {
    // A policy forbids inline style on every page.
    "no-inline-style": "error",
    // Therefore the columns of a table are aligned by the old attribute, which every browser knows.
    "no-deprecated-attr": "off",
    // Material's drawer is a checkbox; autocomplete="off" keeps Firefox from restoring its state on reload.
    "valid-autocomplete": "off",
    // Python-Markdown writes tabindex and other empty attributes as they came.
    "attribute-boolean-style": "off",
  },
};
