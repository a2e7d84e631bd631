// A second model for comparison: its answer to the same question, and the differences.

import { caption, legend, parsed, shapes } from "./drawing.js";
import { make, post } from "./elements.js";
import { key, kindOf } from "./parts.js";
import { kinds, models, state } from "./state.js";

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

// Conditions apply to kinds of parts that both models have; a model without the view shows its best structure.
function adapted(question, { name, views, parts }) {
  const known = (conditions) => conditions.filter((each) => kindOf(each) in parts);
  const { required, forbidden, view } = question;
  return { ...question, model: name, required: known(required), forbidden: known(forbidden), view: views.includes(view) ? view : "mode" };
}

// The kinds of parts in which the two models can differ.
const shared = () => kinds().filter((kind) => kind in other().parts);

// Takes the answer of the first model; it has no words if there is nothing to show.
export function compare(answer) {
  first = answer;
  if (!answer.words.length) element("second").replaceChildren();
  else if (second) show();
}

function show() {
  const { structures, overlay, output } = second, [best] = structures;
  const scrolls = (overlay ? [overlay] : best?.pictures ?? []).map(parsed);
  const figcaption = overlay ? legend(structures) : caption(best ?? {}, 0);
  figcaption.hidden = false;
  figcaption.prepend(make("strong", { textContent: other().name }));
  if (!overlay && best && first?.structures.length && shared().length) {
    const compared = best.parts.filter(({ part }) => shared().includes(kindOf(part)));
    const different = differences(scrolls, compared);
    const text = different ? `differs in ${different} of ${compared.length}` : "no difference";
    figcaption.append(make("span", { className: different ? "difference" : "", textContent: text }));
  }
  element("second").replaceChildren(make("figure", {}, figcaption, ...(output ? [make("pre", { textContent: output })] : scrolls)));
}

// Marks and counts the parts that the first model does not have.
function differences(scrolls, parts) {
  const name = ({ part, relation }) => `${key(part)} ${relation ?? ""}`;
  const known = new Set(first.structures[0].parts.map(name));
  for (const kind of shared()) {
    for (const [shape, found] of scrolls.flatMap((scroll) => shapes(scroll.firstChild, kind, parts))) {
      shape.classList.toggle("differs", !known.has(name(found)));
    }
  }
  return parts.filter((found) => !known.has(name(found))).length;
}
