// Draws an answer: pictures whose parts are buttons, conditions, alternatives.

import { showChoice } from "./choice.js";
import { act, actOnLabel, actOnWord, forget, refocus, showConditions } from "./conditions.js";
import { make, short } from "./elements.js";
import { key, kindOf, name, phrase, readable, sameWords, setWords, slot, word } from "./parts.js";
import { hasSeveral, kinds, state } from "./state.js";

const element = (id) => document.getElementById(id);

export function draw(answer) {
  if (!sameWords(answer.words)) forget();
  setWords(answer.words);
  const figures = answer.structures.map(figure);
  if (answer.overlay) figures.unshift(overlaid(answer));
  element("panel").replaceChildren(...figures);
  if (answer.output) element("panel").append(make("figure", {}, make("pre", { textContent: answer.output })));
  list(answer.alternatives ?? []);
  showConditions();
  showChoice(answer.overlay ? answer.structures.map(share) : []);
  refocus();
}

function figure(structure, place) {
  const drawings = structure.pictures.map((source, number) => drawing(source, structure.parts, addable(number, structure.pictures.length)));
  return make("figure", {}, caption(structure, place), ...drawings);
}

function drawing(source, parts, added) {
  const scroll = parsed(source);
  if (scroll.firstChild) enliven(scroll.firstChild, parts, added);
  return scroll;
}

// The kind of parts that two words of a picture make: the last picture shows spans if there are any, the first one arcs.
function addable(number, count) {
  if (kinds().includes("span") && number === count - 1) return "span";
  return kinds().includes("arc") ? "arc" : null;
}

export function parsed(source) {
  const scroll = make("div", { className: "scroll" });
  if (source) {
    const picture = new DOMParser().parseFromString(source, "text/html").querySelector("svg");
    scroll.append(document.importNode(picture, true));
  }
  return scroll;
}

// The first structures in one picture, as many as there are digit keys.

const AMOUNT = { samples: "share of the samples", kbest: "probability", sparsemap: "weight" };

function overlaid({ overlay, structures }) {
  return make("figure", {}, legend(structures), drawing(overlay, structures.slice(0, 9).flatMap(({ parts }) => parts), addable(0, 1)));
}

export function legend(structures) {
  const shown = structures.slice(0, 9), number = shown.length < structures.length ? `${shown.length} of ${structures.length}` : shown.length;
  return make("figcaption", { className: "legend" },
    make("span", { textContent: `${number} in one picture, ${AMOUNT[state.view]} ${short(shown.map(share).reduce((sum, each) => sum + each))}` }),
    make("span", { className: "shared", textContent: "in all" }),
    make("span", { className: "first", textContent: "in the first" }),
    make("span", { className: "other", textContent: "only in others" }),
  );
}

const share = ({ weight, probability }) => weight ?? probability;

export function caption(structure, place) {
  const { weight, probability } = structure;
  if (share(structure) === undefined) return make("figcaption", { hidden: true });
  const texts = hasSeveral() ? [`${place + 1}.`] : [];
  if (weight !== undefined) texts.push(`${state.view === "samples" ? "share" : "weight"} ${short(weight)}`);
  if (probability !== undefined) texts.push(`probability ${short(probability)}`);
  const bar = make("span", { className: "share" });
  bar.style.setProperty("--p", share(structure));
  return make("figcaption", {}, bar, ...texts.map((text) => make("span", { textContent: text })));
}

// Turns the elements of a picture that represent parts into buttons.

function enliven(picture, parts, added) {
  if (!kinds().length) return;
  picture.setAttribute("role", "group");
  const find = picture.matches(".overlay") ? shapesOfOverlay : shapes;
  for (const [shape, { part: found, relation }] of kinds().flatMap((kind) => find(picture, kind, parts))) {
    const condition = state.conditions.get(key(found)) ?? (relation && state.conditions.get(key({ ...found, relation })));
    shape.classList.add("part", ...(condition ? [condition] : []));
    for (const line of shape.querySelectorAll(".arc")) {
      shape.prepend(Object.assign(line.cloneNode(), { id: "" }));
      shape.firstChild.setAttribute("class", "hit");
    }
    act(shape, found, `${name(found)}${relation ? ` ${relation}` : ""}`);
    const label = relation && shape.querySelector(".label");
    if (label) actOnLabel(label, found, relation);
  }
  if (added) picture.querySelectorAll(".form").forEach((form, place) => actOnWord(form, added, place + 1));
}

// Returns the shapes of a picture with the parts that they represent.

export function shapes(picture, kind, parts) {
  const known = parts.filter(({ part: found }) => kindOf(found) === kind);
  if (kind === "arc") {
    const byKey = new Map(known.map((each) => [key(each.part), each]));
    return [...picture.querySelectorAll("[data-word]")]
      .map((group) => [group, byKey.get(`arc.${group.dataset.word}.${group.dataset.head}`)]);
  }
  if (kind === "tag") return [...picture.querySelectorAll(".tag")].map((tag, place) => [tag, known[place]]);
  const labels = known.flatMap((each) => each.part.label.split(/\s+/).map(() => each));
  return [...picture.querySelectorAll(".label")].filter((label) => !label.closest("[data-word]")).map((label, place) => [label, labels[place]]);
}

// In an overlay, a part of several structures occurs once, and the label of a span may be one of several.

function shapesOfOverlay(picture, kind, parts) {
  const sets = { arc: "[data-head]", tag: "[data-tag]", span: "[data-label]" };
  const is = {
    arc: ({ word, head }, found) => word === String(found.word) && head === String(found.head),
    tag: ({ word, tag }, found) => word === String(found.word) && tag === found.tag,
    span: ({ start, end, label }, found) => start === String(found.start) && end === String(found.end)
      && (label === found.label || found.label.split(/\s+/).includes(label)),
  }[kind];
  return [...picture.querySelectorAll(sets[kind])]
    .map((shape) => [shape, parts.find(({ part: found }) => is(shape.dataset, found))]).filter(([, found]) => found);
}

// Marginals: the alternatives of each word or span.

function list(alternatives) {
  const groups = new Map();
  for (const each of alternatives) groups.set(slot(each.part), [...(groups.get(slot(each.part)) ?? []), each]);
  element("alternatives").hidden = groups.size === 0;
  element("alternatives").replaceChildren(...[...groups.values()].map((group) => {
    const { part: found } = group[0];
    const title = kindOf(found) === "span" ? phrase(found) : word(found.word);
    group.sort((left, right) => right.probability - left.probability);
    return make("div", { className: "word" }, make("h2", { textContent: title }), make("div", {}, ...group.map(option)));
  }));
}

function option({ part: found, probability }) {
  const label = { arc: () => `← ${word(found.head)}`, tag: () => found.tag, span: () => readable(found.label) }[kindOf(found)]();
  const button = make("button", { type: "button", className: `option ${state.conditions.get(key(found)) ?? ""}` },
    label, make("span", { textContent: short(probability) }));
  button.style.setProperty("--p", probability);
  act(button, found, `${name(found)}, probability ${short(probability)}`);
  return button;
}
