// Sentences that the user keeps, with a whole structure or with the conditions only, to be saved as one file.

import { save } from "./files.js";
import { card, state } from "./state.js";

const kept = new Map();  // by the name of the file, sentences by their text, so that a sentence is kept once
let answered = null, isSaved = true;

const element = (id) => document.getElementById(id);
const ofFile = () => kept.get(card()?.file) ?? new Map();
const shown = () => answered.structures[Math.max(Number(state.alone), 1) - 1] ?? answered.structures[0];

// Takes the answer on the page; structures of some models have no file format.
export function offer(answer) {
  answered = answer;
  const isKeepable = Boolean(shown()?.annotation), sentences = ofFile();
  element("keep").hidden = !(isKeepable || sentences.size);
  if (element("keep").hidden) return;
  element("keep-whole").disabled = !isKeepable;
  element("keep-conditions").disabled = !answer.partial || !state.conditions.size;
  element("save").hidden = sentences.size === 0;
  element("save").textContent = `Download ${card().file} (${sentences.size})`;
}

// Disables the buttons until the answer to the current settings arrives.
export function withhold() {
  for (const id of ["keep-whole", "keep-conditions"]) element(id).disabled = true;
}

export const keepWhole = () => keep(shown().annotation);
export const keepConditions = () => keep(answered.partial);

function keep(text) {
  kept.set(card().file, ofFile().set(state.text, text));
  isSaved = false;
  offer(answered);
}

export function saveKept() {
  save(card().file, [...ofFile().values()].join(""));
  isSaved = true;
}

// Kept sentences exist on this page only.
export function askBeforeLeaving(event) {
  if (!isSaved) event.preventDefault();
}
