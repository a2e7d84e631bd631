// Sentences that the user keeps, with a whole structure or with its required parts, to be saved as one file.

import { save } from "./files.js";
import { card, state } from "./state.js";

const NAMES = { arc: "trees.conllu", tag: "tags.conllu" };
const kept = { arc: new Map(), tag: new Map() };  // by the text, so that a sentence is kept once
let answered = null, isSaved = true;

const element = (id) => document.getElementById(id);
const ofKind = () => kept[card()?.part];

// Takes the answer on the page; it cannot be kept if CoNLL-U has no columns for its parts.
export function offer(answer) {
  answered = answer;
  element("keep").hidden = !ofKind() || !(answer.partial || ofKind().size);
  if (element("keep").hidden) return;
  element("keep-whole").disabled = !answer.partial;
  element("keep-required").disabled = !answer.partial || ![...state.conditions.values()].includes("required");
  element("save").hidden = ofKind().size === 0;
  element("save").textContent = `Download ${NAMES[card().part]} (${ofKind().size})`;
}

// Disables the buttons until the answer to the current settings arrives.
export function withhold() {
  for (const id of ["keep-whole", "keep-required"]) element(id).disabled = true;
}

export const keepWhole = () => keep(answered.structures[Math.max(Number(state.alone), 1) - 1].conllu);
export const keepRequired = () => keep(answered.partial);

function keep(text) {
  ofKind().set(state.text, text);
  isSaved = false;
  offer(answered);
}

export function saveKept() {
  save(NAMES[card().part], [...ofKind().values()].join(""));
  isSaved = true;
}

// Kept sentences exist on this page only.
export function askBeforeLeaving(event) {
  if (!isSaved) event.preventDefault();
}
