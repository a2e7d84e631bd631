// A second model for comparison: its answer to the same question, and the differences.

import { caption, legend, parsed, shapes } from "./drawing.js";
import { make, post } from "./elements.js";
import { card, key, models, state } from "./state.js";

const element = (id) => document.getElementById(id);
const other = () => models.find(({ name }) => name === state.beside);
let first = null, second = null;  // the answers

export async function askBeside(question, signal) {
  const model = other();
  element("second").hidden = !model;
  element("panels").classList.toggle("two", Boolean(model));
  first = second = null;
  if (!model) return;
  try {
    const response = await post("predict", adapted(question, model), signal);
    const answer = await response.json();
    if (signal.aborted) return;
    second = response.ok ? answer.answers[0] : null;
    if (second) show();
    else element("second").replaceChildren(make("p", { className: "told fault", textContent: `${model.name}: ${answer.error}` }));
  } catch (error) {
    if (error.name !== "AbortError") element("second").replaceChildren();  // the first model reports the reason
  }
}

// Conditions apply if both models have the same kind of parts; a model without the view shows its best structure.
function adapted(question, { name, views, part }) {
  const conditions = part === card().part ? {} : { required: [], forbidden: [] };
  return { ...question, ...conditions, model: name, view: views.includes(question.view) ? question.view : "mode" };
}

// Takes the answer of the first model; it has no words if there is nothing to show.
export function compare(answer) {
  first = answer;
  if (!answer.words.length) element("second").replaceChildren();
  else if (second) show();
}

function show() {
  const { structures, overlay, output } = second, [best] = structures, scroll = parsed(overlay ?? best?.picture);
  const figcaption = overlay ? legend(structures) : caption(best ?? {}, 0);
  figcaption.hidden = false;
  figcaption.prepend(make("strong", { textContent: other().name }));
  if (!overlay && best && first?.structures.length && other().part && other().part === card().part) {
    const different = differences(scroll.firstChild, best);
    const text = different ? `differs in ${different} of ${best.parts.length}` : "no difference";
    figcaption.append(make("span", { className: different ? "difference" : "", textContent: text }));
  }
  element("second").replaceChildren(make("figure", {}, figcaption, output ? make("pre", { textContent: output }) : scroll));
}

// Marks and counts the parts that the first model does not have.
function differences(picture, { parts }) {
  const name = ({ part, relation }) => `${key(part)} ${relation ?? ""}`;
  const known = new Set(first.structures[0].parts.map(name));
  for (const [shape, found] of shapes(picture, other().part, parts)) shape.classList.toggle("differs", !known.has(name(found)));
  return parts.filter((found) => !known.has(name(found))).length;
}
