// Draws an answer: pictures whose parts are buttons, conditions, alternatives.

import { showChoice } from "./choice.js";
import { make, short } from "./elements.js";
import { card, change, hasSeveral, key, part, state } from "./state.js";

const NEXT = { undefined: "required", required: "forbidden" };  // a third click removes the condition
let words = [], touched = null;

const element = (id) => document.getElementById(id);
// A word, with its number if the form occurs several times.
const word = (place) => {
  if (place === 0) return "root";
  const form = words[place - 1] ?? "?";
  return words.indexOf(form) === words.lastIndexOf(form) ? form : `${form} (${place})`;
};

function name(kind, found) {
  if (kind === "arc") return `${word(found.head)} → ${word(found.word)}`;
  if (kind === "tag") return `${word(found.word)} ${found.tag}`;
  return `${words.slice(found.start, found.end).join(" ")} ${found.label}`;
}

export function draw(answer) {
  words = answer.words;
  const figures = answer.structures.map(figure);
  if (answer.overlay) figures.unshift(overlaid(answer));
  element("panel").replaceChildren(...figures);
  if (answer.output) element("panel").append(make("figure", {}, make("pre", { textContent: answer.output })));
  list(answer.alternatives ?? []);
  showConditions();
  showChoice(answer.overlay ? answer.structures.map(share) : []);
  refocus();
}

// The part that the user clicked keeps the focus when it is redrawn; if it is gone, an element with the same key gets it.

function refocus() {
  const here = document.activeElement;
  if (!touched || !(here === document.body || here.dataset.key)) return;
  const places = ["panel", "alternatives", "conditions"].sort((left, right) => (right === touched.place) - (left === touched.place));
  const candidates = places.flatMap((place) => [...element(place).querySelectorAll("[data-key]")]);
  candidates.find((each) => each.dataset.key === touched.key && !each.closest("[hidden]"))?.focus({ preventScroll: true });
}

function figure(structure, place) {
  return make("figure", {}, caption(structure, place), drawing(structure.picture, structure.parts));
}

function drawing(source, parts) {
  const scroll = parsed(source);
  if (scroll.firstChild) enliven(scroll.firstChild, parts);
  return scroll;
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
  return make("figure", {}, legend(structures), drawing(overlay, structures.slice(0, 9).flatMap(({ parts }) => parts)));
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

function enliven(picture, parts) {
  const kind = card().part;
  if (!kind) return;
  picture.setAttribute("role", "group");
  const find = picture.matches(".overlay") ? shapesOfOverlay : shapes;
  for (const [shape, { part: found, relation }] of find(picture, kind, parts)) {
    const condition = state.conditions.get(key(found));
    shape.classList.add("part", ...(condition ? [condition] : []));
    for (const line of shape.querySelectorAll(".arc")) {
      shape.prepend(Object.assign(line.cloneNode(), { id: "" }));
      shape.firstChild.setAttribute("class", "hit");
    }
    act(shape, found, `${name(kind, found)}${relation ? ` ${relation}` : ""}`);
  }
}

// Returns the shapes of a picture with the parts that they represent.

export function shapes(picture, kind, parts) {
  if (kind === "arc") {
    const byKey = new Map(parts.map((each) => [key(each.part), each]));
    return [...picture.querySelectorAll("[data-word]")]
      .map((group) => [group, byKey.get(`${group.dataset.word}.${group.dataset.head}`)]);
  }
  if (kind === "tag") return [...picture.querySelectorAll(".tag")].map((tag, place) => [tag, parts[place]]);
  const labels = parts.flatMap((each) => each.part.label.split(/\s+/).map(() => each));
  return [...picture.querySelectorAll(".label")].map((label, place) => [label, labels[place]]);
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

function act(target, found, label) {
  const condition = state.conditions.get(key(found));
  target.dataset.key = key(found);
  target.setAttribute("role", "button");
  target.setAttribute("tabindex", "0");
  target.setAttribute("aria-label", `${label}: ${condition ?? "free"}`);
  target.addEventListener("click", () => toggle(found, target));
  target.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    toggle(found, target);
  });
}

function toggle(found, target) {
  touched = { key: key(found), place: target.closest("#panel, #alternatives").id };
  const condition = NEXT[state.conditions.get(key(found))];
  if (condition) state.conditions.set(key(found), condition);
  else state.conditions.delete(key(found));
  change({});
}

export function showConditions() {
  const kind = card()?.part;
  element("conditions").replaceChildren(...(kind ? [...state.conditions] : []).map(([text, condition]) => {
    const button = make("button", {
      type: "button", className: condition, textContent: `${condition}: ${name(kind, part(kind, text))}`,
      onclick: () => {
        touched = { key: text, place: "panel" };
        state.conditions.delete(text);
        change({});
      },
    });
    button.dataset.key = text;
    button.setAttribute("aria-label", `${button.textContent}; remove`);
    return make("li", {}, button);
  }));
}

// Marginals: the alternatives of each word or span.

function list(alternatives) {
  const kind = card()?.part, groups = new Map();
  for (const each of alternatives) {
    const { part: found } = each;
    const place = kind === "span" ? `${found.start}.${found.end}` : found.word;
    groups.set(place, [...(groups.get(place) ?? []), each]);
  }
  element("alternatives").hidden = groups.size === 0;
  element("alternatives").replaceChildren(...[...groups.values()].map((group) => {
    const { part: first } = group[0];
    const title = kind === "span" ? words.slice(first.start, first.end).join(" ") : word(first.word);
    group.sort((left, right) => right.probability - left.probability);
    return make("div", { className: "word" }, make("h2", { textContent: title }), make("div", {}, ...group.map((each) => option(kind, each))));
  }));
}

function option(kind, { part: found, probability }) {
  const label = { arc: () => `← ${word(found.head)}`, tag: () => found.tag, span: () => found.label }[kind]();
  const button = make("button", { type: "button", className: `option ${state.conditions.get(key(found)) ?? ""}` },
    label, make("span", { textContent: short(probability) }));
  button.style.setProperty("--p", probability);
  act(button, found, `${name(kind, found)}, probability ${short(probability)}`);
  return button;
}
