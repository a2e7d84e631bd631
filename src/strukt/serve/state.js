// The settings, which are stored in the address after "#", and the models.

import { kindOf, part } from "./parts.js";

const DEFAULTS = { text: "They told us to wait for the bus.", view: "mode", temperature: "0", k: "5", seed: "1", alone: "0", beside: "" };
// The text if the address has none: the first example of the model, if there is one.
const firstText = () => card()?.examples?.[0] ?? DEFAULTS.text;

// `beside` is the name of the model to compare with, or empty.
// `alone` is the number of the single structure that is shown, from 1; 0 shows all structures in one picture.
// `conditions` maps the keys of parts to "required" or "forbidden".
export const state = { ...DEFAULTS, model: "", conditions: new Map() };
export const models = [];
export const card = () => models.find((model) => model.name === state.model) ?? models[0];
export const kinds = () => Object.keys(card()?.parts ?? {});  // the kinds of parts that the model has
export const degrees = () => Math.min(Math.max(10 ** Number(state.temperature) || 1, 0.1), 10);

let react = () => {};

// Registers the function to call at every change, with the number of milliseconds to wait for further changes.
export function whenChanged(callback) {
  react = callback;
}

// True if the view has several structures, which are first drawn on top of each other.
export const hasSeveral = () => !["mode", "marginals"].includes(state.view);

export function change(values, wait = 0) {
  Object.assign(state, values);
  react(wait);
}

// The address.

export function remember() {
  const address = new URLSearchParams();
  if (models.length > 1) address.set("model", state.model);
  for (const [field, usual] of Object.entries(DEFAULTS)) {
    if (state[field] !== usual || field === "text") address.set(field, state[field]);
  }
  for (const [text, condition] of state.conditions) address.append(condition, text);
  history.replaceState(null, "", `#${address}`);
}

export function recall() {
  const address = new URLSearchParams(location.hash.slice(1));
  state.model = address.get("model") ?? "";
  state.model = card()?.name ?? "";
  for (const [field, usual] of Object.entries(DEFAULTS)) state[field] = address.get(field) ?? usual;
  if (!models.some(({ name }) => name === state.beside)) state.beside = "";
  if (!address.has("text")) state.text = firstText();
  const is = (text) => part(text) && kinds().includes(kindOf(part(text)));
  state.conditions = new Map(["required", "forbidden"].flatMap((condition) =>
    address.getAll(condition).filter(is).map((text) => [text, condition])));
}
