// The libraries that the search was compared with, each with the same layer: the site's own cutting of words, its kinds of pages, its glossary.
//   node search_libraries.mjs FOLDER DOCUMENTS.json QUERIES.json > answers.json
// FOLDER holds node_modules; a document is a section of a page. Prints for each engine the size of its index and the pages found.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { tokens } from "../web/src/search/words.js";

const [folder, documentsFile, queriesFile] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${folder}/package.json`));
const load = async (name) => import(pathToFileURL(require.resolve(name)));
const documents = JSON.parse(readFileSync(documentsFile, "utf8"));
const queries = JSON.parse(readFileSync(queriesFile, "utf8"));
const names = new Map(documents.names);
const FIELDS = { title: 6, heading: 3, text: 1 };

// What the glossary knows a name by is searched besides.
const widened = (query) => `${query} ${names.get(tokens(query).join("")) ?? [...names].find(([name]) => name.length > 3 && tokens(query).join("").includes(name))?.[1] ?? ""}`;

// A page's score is that of its best section, a question's counts double.
function pagesOf(hits) {
  const best = new Map();
  for (const { id, score } of hits) {
    const { page, kind } = documents.sections[id];
    best.set(page, Math.max(best.get(page) ?? 0, score * (kind === "question" ? 2 : 1)));
  }
  return [...best].sort((one, two) => two[1] - one[1]).map(([page]) => page);
}

async function miniSearch() {
  const { default: MiniSearch } = await load("minisearch");
  const index = new MiniSearch({ fields: Object.keys(FIELDS), tokenize: tokens, processTerm: (term) => term });
  index.addAll(documents.sections.map((section, id) => ({ id, ...section })));
  const options = { boost: FIELDS, prefix: (term) => term.length > 2, fuzzy: (term) => (term.length > 5 && /^[a-z]+$/.test(term) ? 0.2 : 0) };
  return { size: size(JSON.stringify(index)), find: (query) => pagesOf(index.search(widened(query), options)) };
}

async function orama() {
  const { create, insertMultiple, search, save } = await load("@orama/orama");
  const tokenizer = { language: "english", normalizationCache: new Map(), tokenize: (text) => [...new Set(tokens(text))] };
  const index = create({ schema: { title: "string", heading: "string", text: "string" }, components: { tokenizer } });
  await insertMultiple(index, documents.sections.map(({ title, heading, text }, id) => ({ id: String(id), title, heading, text })));
  const find = async (query) => {
    const { hits } = await search(index, { term: widened(query), boost: FIELDS, tolerance: /[a-z]{6}/i.test(query) ? 1 : 0, threshold: 0.5, limit: 200 });
    return pagesOf(hits.map(({ id, score }) => ({ id: Number(id), score })));
  };
  return { size: size(JSON.stringify(await save(index))), find };
}

async function flexSearch() {
  const { Document } = (await load("flexsearch")).default;
  const index = new Document({ document: { id: "id", index: Object.keys(FIELDS).map((field) => ({ field, tokenize: "forward", encode: tokens })) } });
  documents.sections.forEach((section, id) => index.add({ id, ...section }));
  const find = (query) => {
    const scores = new Map();
    for (const { field, result } of index.search(widened(query), { limit: 200, suggest: true })) {
      result.forEach((id, place) => scores.set(id, (scores.get(id) ?? 0) + FIELDS[field] / (1 + place)));
    }
    return pagesOf([...scores].map(([id, score]) => ({ id, score })));
  };
  let exported = 0;
  await index.export((_, data) => (exported += size(data ?? "")));
  return { size: exported, find };
}

const size = (text) => gzipSync(text, { level: 9 }).length;

const answers = {};
for (const [name, make] of Object.entries({ MiniSearch: miniSearch, Orama: orama, FlexSearch: flexSearch })) {
  const { size: bytes, find } = await make();
  const pages = [];
  const times = [];
  for (const query of queries) {
    const began = performance.now();
    pages.push((await find(query)).slice(0, 8));
    times.push(performance.now() - began);
  }
  times.sort((one, two) => one - two);
  answers[name] = { bytes, pages, p95: times[Math.floor(times.length * 0.95)] };
}
console.log(JSON.stringify(answers));
