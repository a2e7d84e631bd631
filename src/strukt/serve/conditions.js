// Conditions: the parts that are required and forbidden, and what clicks on parts and words do.

import { make } from "./elements.js";
import { key, kindOf, labelOf, name, part, place, readable, slot, withLabel, word } from "./parts.js";
import { card, change, state } from "./state.js";

const NEXT = { undefined: "required", required: "forbidden" };  // a third click removes the condition
const element = (id) => document.getElementById(id);
const labels = (kind) => card()?.parts[kind] ?? [];

let touched = null;  // key and place of the part that the user clicked
let pending = null;  // a span that is to be added, whose label is not chosen yet
let first = null;  // the word that was clicked first, of two words that make a part

export function forget() {
  pending = first = null;
}

// Requires a part; others that exclude it are no longer required.
function require(found) {
  for (const [text, condition] of state.conditions) {
    if (condition === "required" && slot(part(text)) === slot(found)) state.conditions.delete(text);
  }
  state.conditions.set(key(found), "required");
}

function toggle(found, target) {
  touched = { key: key(found), place: target.closest("#panel, #alternatives").id };
  const condition = NEXT[state.conditions.get(key(found))];
  if (condition === "required") require(found);
  else if (condition) state.conditions.set(key(found), condition);
  else state.conditions.delete(key(found));
  change({});
}

// Turns an element into a button.
function press(target, label, action) {
  target.setAttribute("role", "button");
  target.setAttribute("tabindex", "0");
  target.setAttribute("aria-label", label);
  target.addEventListener("click", action);
  target.addEventListener("keydown", (event) => {
    if (event.target !== target || (event.key !== "Enter" && event.key !== " ")) return;
    event.preventDefault();
    action(event);
  });
}

// Turns an element into a button for a part.
export function act(target, found, label) {
  const condition = state.conditions.get(key(found));
  target.dataset.key = key(found);
  press(target, `${label}: ${condition ?? "free"}`, () => toggle(found, target));
}

// Makes the label of an arc a place to click, which requires the arc with this label.
export function actOnLabel(target, found, relation) {
  const labelled = withLabel(found, relation), condition = state.conditions.get(key(labelled));
  target.classList.add("relation", ...(condition ? [condition] : []));
  target.addEventListener("click", (event) => {
    event.stopPropagation();
    toggle(labelled, target);
  });
}

// Turns a word into a button: two words make an arc or a span.
export function actOnWord(target, kind, number) {
  const isFirst = first?.kind === kind && first.number === number;
  target.classList.add("part");
  target.classList.toggle("first-word", isFirst);
  press(target, `${word(number)}: ${kind === "arc" ? "new arc" : "new span"}`, () => choose(target, kind, number));
}

function choose(target, kind, number) {
  if (first?.kind !== kind) {
    first = { kind, number, target };
    target.classList.add("first-word");
    return tell();
  }
  const { number: before, target: earlier } = first;
  first = null;
  earlier.classList.remove("first-word");
  tell();
  if (kind === "arc") {
    require({ word: before, head: before === number ? 0 : number });
    return change({});
  }
  pending = { start: Math.min(before, number) - 1, end: Math.max(before, number) };
  showConditions();
  element("conditions").querySelector(".pending select").focus();
}

// Explains the next step after the first of two words.
const STEP = {
  arc: (number) => `Click the head of “${word(number)}”; click the word again if it is the root.`,
  span: (number) => `Click the last word of the span that begins with “${word(number)}”.`,
};

function tell() {
  element("step").textContent = first ? STEP[first.kind](first.number) : "";
}

// The list of conditions.

export function showConditions() {
  const chips = (card() ? [...state.conditions] : []).map(([text, condition]) => chip(text, condition));
  element("conditions").replaceChildren(...chips, ...(pending ? [pendingChip()] : []));
  tell();
}

function chip(text, condition) {
  const found = part(text), choices = condition === "required" ? labels(kindOf(found)) : [];
  const button = make("button", {
    type: "button", className: condition, textContent: `${condition}: ${choices.length ? place(found) : name(found)}`,
    onclick: () => {
      touched = { key: text, place: "panel" };
      state.conditions.delete(text);
      change({});
    },
  });
  button.dataset.key = text;
  button.setAttribute("aria-label", `${condition}: ${name(found)}; remove`);
  return make("li", {}, button, ...(choices.length ? [chooser(found, (label) => {
    state.conditions.delete(text);
    require(withLabel(found, label));
    touched = { key: key(withLabel(found, label)), place: "conditions" };
    change({});
  })] : []));
}

function pendingChip() {
  const button = make("button", { type: "button", textContent: `new: ${place(pending)}`, onclick: () => { forget(); showConditions(); } });
  button.setAttribute("aria-label", `${button.textContent}; remove`);
  return make("li", { className: "pending" }, button, chooser(pending, (label) => {
    require(withLabel(pending, label));
    pending = null;
    change({});
  }));
}

// A menu of the labels that the model knows.
function chooser(found, choose) {
  const none = { arc: "any relation", span: "choose a label" }[kindOf(found)];
  const isOpen = labelOf(found) === undefined;
  const select = make("select", { onchange: ({ target }) => choose(target.value) });
  if (isOpen || kindOf(found) === "arc") select.append(new Option(none, ""));
  select.append(...labels(kindOf(found)).map((label) => new Option(readable(label), label)));
  select.value = labelOf(found) ?? "";
  select.setAttribute("aria-label", `Label of ${place(found)}`);
  return select;
}

// The part that the user clicked keeps the focus when it is redrawn; if it is gone, an element with the same key gets it.
export function refocus() {
  const here = document.activeElement;
  if (!touched || !(here === document.body || here.dataset.key)) return;
  const places = ["panel", "alternatives", "conditions"].sort((left, right) => (right === touched.place) - (left === touched.place));
  const candidates = places.flatMap((each) => [...element(each).querySelectorAll("[data-key]")]);
  candidates.find((each) => each.dataset.key === touched.key && !each.closest("[hidden]"))?.focus({ preventScroll: true });
}
