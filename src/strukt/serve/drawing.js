// Draws what was answered: pictures whose parts are buttons, conditions, alternatives.

import { card, change, key, part, state } from "./state.js";

const NEXT = { undefined: "required", required: "forbidden" };  // and then neither
let words = [], touched = null;

const element = (id) => document.getElementById(id);
const word = (place) => (place === 0 ? "root" : words[place - 1] ?? "?");

function name(kind, found) {
  if (kind === "arc") return `${word(found.head)} → ${word(found.word)}`;
  if (kind === "tag") return `${word(found.word)} ${found.tag}`;
  return `${words.slice(found.start, found.end).join(" ")} ${found.label}`;
}

export function draw(answer) {
  words = answer.words;
  element("panel").replaceChildren(...answer.structures.map(figure));
  if (answer.output) element("panel").append(make("figure", {}, make("pre", { textContent: answer.output })));
  list(answer.alternatives ?? []);
  showConditions();
  refocus();
}

// What the reader has touched is drawn anew and keeps the focus; where it is gone, what stands for it has it.

function refocus() {
  const here = document.activeElement;
  if (!touched || !(here === document.body || here.dataset.key)) return;
  const places = ["panel", "alternatives", "conditions"].sort((left, right) => (right === touched.place) - (left === touched.place));
  const found = places.flatMap((place) => [...element(place).querySelectorAll("[data-key]")]);
  found.find((each) => each.dataset.key === touched.key)?.focus({ preventScroll: true });
}

function figure(structure, place) {
  const scroll = make("div", { className: "scroll" });
  if (structure.picture) {
    const picture = new DOMParser().parseFromString(structure.picture, "text/html").querySelector("svg");
    scroll.append(document.importNode(picture, true));
    enliven(scroll.firstChild, structure.parts);
  }
  return make("figure", {}, caption(structure, place), scroll);
}

function caption(structure, place) {
  const several = !["mode", "marginals"].includes(state.view);
  const { weight, probability } = structure, share = weight ?? probability;
  if (share === undefined) return make("figcaption", { hidden: true });
  const texts = several ? [`${place + 1}.`] : [];
  if (weight !== undefined) texts.push(`${state.view === "samples" ? "share" : "weight"} ${short(weight)}`);
  if (probability !== undefined) texts.push(`probability ${short(probability)}`);
  const bar = make("span", { className: "share" });
  bar.style.setProperty("--p", share);
  return make("figcaption", {}, bar, ...texts.map((text) => make("span", { textContent: text })));
}

export function short(value) {
  if (value < 1e-300) return "< 1e-300";
  return value >= 0.0995 ? value.toFixed(2) : value >= 1e-4 ? value.toPrecision(2) : value.toExponential(0);
}

// The elements of a picture that stand for parts become buttons.

function enliven(picture, parts) {
  const kind = card().part;
  if (!kind) return;
  picture.setAttribute("role", "group");
  for (const [shape, { part: found, relation }] of shapes(picture, kind, parts)) {
    const condition = state.conditions.get(key(found));
    shape.classList.add("part", ...(condition ? [condition] : []));
    for (const line of shape.querySelectorAll(".arc")) {
      shape.prepend(Object.assign(line.cloneNode(), { id: "" }));
      shape.firstChild.setAttribute("class", "hit");
    }
    act(shape, found, `${name(kind, found)}${relation ? ` ${relation}` : ""}`);
  }
}

function shapes(picture, kind, parts) {
  if (kind === "arc") {
    const found = new Map(parts.map((each) => [key(each.part), each]));
    return [...picture.querySelectorAll("[data-word]")]
      .map((group) => [group, found.get(`${group.dataset.word}.${group.dataset.head}`)]);
  }
  if (kind === "tag") return [...picture.querySelectorAll(".tag")].map((tag, place) => [tag, parts[place]]);
  const labels = parts.flatMap((each) => each.part.label.split(/\s+/).map(() => each));
  return [...picture.querySelectorAll(".label")].map((label, place) => [label, labels[place]]);
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
    button.setAttribute("aria-label", `${button.textContent}; take it back`);
    return make("li", {}, button);
  }));
}

// Marginals: for each word or span its alternatives.

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

export function make(kind, properties, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}
