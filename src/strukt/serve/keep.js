// Sentences that the reader keeps, with a structure or with what was required of it, to be saved as one file.

import { save } from "./files.js";
import { card, state } from "./state.js";

const NAMES = { arc: "trees.conllu", tag: "tags.conllu" };
const kept = { arc: new Map(), tag: new Map() };  // by the text, so that a sentence is kept once
let answered = null, isSaved = true;

const element = (id) => document.getElementById(id);
const ofKind = () => kept[card()?.part];

// Takes the answer that is shown; without columns for its parts there is nothing to keep.
export function offer(answer) {
  answered = answer;
  element("keep").hidden = !ofKind() || !(answer.partial || ofKind().size);
  if (element("keep").hidden) return;
  element("keep-whole").disabled = !answer.partial;
  element("keep-required").disabled = !answer.partial || ![...state.conditions.values()].includes("required");
  element("save").hidden = ofKind().size === 0;
  element("save").textContent = `Download ${NAMES[card().part]} (${ofKind().size})`;
}

// Until there is an answer to what is set now.
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

// What is kept is on this page alone.
export function askBeforeLeaving(event) {
  if (!isSaved) event.preventDefault();
}
