// A query as a row of units, words and Chinese signs, and what can be made of neighbours.
import { isStop, stopsOf } from "./words.js";

export const WORD = 2.5; // a word is as much of a query as so many Chinese signs

export function unitsOf(cut) {
  return cut.flatMap((piece) => {
    if (!piece.han) return piece.parts.map((text, index) => ({ text, piece, tight: isTight(piece, index) }));
    const stops = stopsOf(piece.han);
    return [...piece.han].map((text, index) => ({ text, piece, han: true, stop: stops[index] }));
  });
}

// Is a part of an identifier so joined to the next that neither is a word by itself? So are those of cp.async and stream-K.
function isTight({ parts, joints }, index) {
  return index < joints.length && (/[_.:[\]]/.test(joints[index]) || parts[index + 1].length === 1 || parts[index].length === 1);
}

export const mass = (units) => units.reduce((sum, { han, stop }) => sum + (han ? (stop ? 0 : 1) : WORD), 0);

// Neighbours of which one is short or a number may be one word: float 4, cp async, copy on write.
export function joinedOf(row) {
  const found = [];
  for (let at = 1; at < row.length; at++) {
    for (const pair of [row.slice(at - 1, at + 1), row.slice(Math.max(0, at - 2), at + 1)]) {
      const shorts = pair.filter(({ text }) => /^\d+$/.test(text) || text.length < 4);
      if (pair.some(({ han }) => han) || pair.every(({ piece }) => piece === pair[0].piece) || !shorts.length) continue;
      if (pair.length === 3 && shorts[0] !== pair[1]) continue;
      if (!pair.every(({ text }) => isStop(text) && !/\d/.test(text))) found.push({ text: pair.map(({ text }) => text).join(""), pair });
    }
  }
  return found;
}

// The runs of Chinese between the names, as pairs of signs; a pair with a sign of little meaning may be missing.
export function runsOf(row) {
  const runs = [];
  let run = [];
  const end = () => {
    if (run.some(({ stop }) => !stop)) runs.push({ signs: run, pairs: pairsOf(run) });
    run = [];
  };
  for (const unit of row) {
    if (!unit.han || unit.held || (run.length && unit.piece !== run[0].piece)) end();
    if (unit.han && !unit.held) run.push(unit);
  }
  end();
  return runs;
}

function pairsOf(signs) {
  const pairs = [];
  signs.forEach((sign, index) => {
    const next = signs[index + 1];
    if (next && sign.stop < 2 && next.stop < 2 && !(sign.stop && next.stop)) {
      pairs.push({ text: sign.text + next.text, signs: [sign, next], loose: sign.stop || next.stop });
    }
    const alone = !sign.stop && (!next || next.stop) && (index === 0 || signs[index - 1].stop);
    if (alone) pairs.push({ text: sign.text, signs: [sign] });
  });
  return pairs;
}
