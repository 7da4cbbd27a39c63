// Cut what a reader types into words, identifiers and Chinese, as scripts/search_index/words.py cuts the pages; a test compares the two.
const HAN = "\\u3400-\\u4dbf\\u4e00-\\u9fff々";
const PIECE = new RegExp(`[a-z0-9]+(?:[_.:/\\-\\[\\]]+[a-z0-9]+)*|[${HAN}]+`, "g");
const SIGN = new RegExp(`[${HAN}]`);
const JOINTS = /[_.:/\-[\]]+/;

export const isHan = (text) => SIGN.test(text);

export function normalised(text) {
  const apart = text.normalize("NFKC").replace(/([a-z])(?=[A-Z])|([0-9])(?=[A-Z][a-z])/g, "$1$2_");
  return apart.toLowerCase().replace(/(\d),(?=\d{3})/g, "$1");
}

// The pieces of a text: a word or an identifier with its parts, or a run of Chinese.
export function pieces(text) {
  return [...normalised(text).matchAll(PIECE)].map(({ 0: piece, index }) =>
    isHan(piece) ? { han: piece, index } : { parts: piece.split(JOINTS), whole: piece.split(JOINTS).join(""), joints: piece.match(new RegExp(JOINTS, "g")) ?? [], written: piece, index },
  );
}

export function tokens(text) {
  const found = [];
  for (const { han, parts, whole } of pieces(text)) {
    if (han) {
      found.push(...Array.from(han, (_, index) => han.slice(index, index + 2)));
      continue;
    }
    found.push(...parts.filter((part) => part.length > 1));
    if (parts.length > 1 && !/^\d+$/.test(whole)) found.push(whole);
  }
  return found;
}

const ENDINGS =
  "ations ation ators ator ating ated ates ate ences ence ents ent encies ency ancies ancy ances ance ings ing ers er eds ed es ions ion e s".split(" ");

// What the forms of an English word have in common: conflict of conflicts, quantiz of quantisation.
export function stem(word) {
  if (word.length < 4 || /[^a-z]/.test(word)) return word;
  const american = word.replace(/is(e|ed|es|er|ers|ing|ation|ations)$/, "iz$1");
  for (const ending of ENDINGS) {
    const rest = american.slice(0, -ending.length);
    if (!american.endsWith(ending) || rest.length < 4 || (ending === "s" && rest.endsWith("s"))) continue;
    return /^(?:ing|ings|ed|eds|er|ers)$/.test(ending) ? rest.replace(/([^lszaeiou])\1$/, "$1") : rest;
  }
  return american;
}

// By this a name is known whatever its spaces, signs and endings are.
export function keys(text) {
  const units = pieces(text).flatMap(({ han, parts }) => parts ?? [...han]);
  return [...new Set([units.join(""), units.map(stem).join("")])];
}

// How many letters have to be added, dropped, changed or swapped; more than `most` counts as Infinity.
export function distance(one, other, most) {
  if (Math.abs(one.length - other.length) > most) return Infinity;
  let before = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const same = one[i - 1] === other[j - 1];
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (same ? 0 : 1));
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) next[j] = Math.min(next[j], before[j - 2] + 1);
    }
    if (Math.min(...next) > most) return Infinity;
    [before, row] = [row, next];
  }
  return row[other.length] > most ? Infinity : row[other.length];
}

// A longer word may have one error, a long one two.
export const errors = (word) => (word.length < 4 ? 0 : word.length < 9 ? 1 : 2);

// Words that a question is made of, not what it is about.
const STOPS = new Set(
  `a an and any are as at be been but by can could did do does for from get had has have how i in into is it its me mean means my of on or our
  please should so than that the their them there these they this to us vs versus was we were what when where which while who whose why will with
  would you your about between explain tell difference differ per many much some`.split(/\s+/),
);
const HAN_STOPS = new RegExp(
  `为什么|是什么|有什么|什么样|什么是|什么时候|怎么样|怎么办|怎么做|怎么用|怎么|怎样|如何|什么|哪些|哪个|哪里|哪种|多少|是不是|有没有|能不能|要不要|会不会|可不可以|可以|应该|需要|请问|请|里面|一下|一个|多个|几个|一定|真的|总是|一般|有些|这个|那个|这些|那些|这|那|我们|我|你|他|它|之间|关系|区别|差别|不同|分别|时候|情况|以及|还是|或者|而且|因为|所以|如果|但是|的话|反而|到底|究竟|介绍|解释|说说|讲讲|谈谈|了解|描述|的|了|吗|呢|吧|啊|呀|么|是|有|在|和|与|及|或|跟|把|被|让|给|从|到|对|就|都|也|还|很|会|能|要|用|做|个|得|地|着|过|比|里|中|上|下|后|之|为|该|才|又|再|只|最|更|好`,
  "g",
);

// Words by which a reader asks for a kind of page.
const WISHES = [
  ["lab", /^(?:labs?|notebooks?|exercises?)$|实验|练习/],
  ["glossary", /^(?:glossary|definitions?|terms?)$|术语表|术语|定义/],
];

// The kind of page that a query asks for besides what it is about, and the query without that.
export function wished(text) {
  for (const [kind, pattern] of WISHES) {
    const rest = text.split(/(\s+|实验|练习|术语表|术语|定义)/).filter((part) => !pattern.test(part.toLowerCase())).join("");
    if (rest !== text && rest.trim()) return { kind, rest };
  }
  return { rest: text };
}

export const isStop = (word) => word.length < 2 || STOPS.has(word);

// A run of Chinese as its signs, each with whether it belongs to a word that says nothing: 2 to one of several signs, 1 to one of one.
export function stopsOf(run) {
  const marked = Array(run.length).fill(0);
  for (const { 0: word, index } of run.matchAll(HAN_STOPS)) marked.fill(word.length > 1 ? 2 : 1, index, index + word.length);
  return marked;
}
