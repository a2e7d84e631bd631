// What is set, which lives in the address after "#", and the models it is set for.

const DEFAULTS = { text: "They told us to wait for the bus.", view: "mode", temperature: "0", k: "5", seed: "1", alone: "0", beside: "" };
// What is read where the address tells no text: the first example of the model, if it carries some.
const firstText = () => card()?.examples?.[0] ?? DEFAULTS.text;

const FIELDS = { arc: ["word", "head"], tag: ["word", "tag"], span: ["start", "end", "label"] };

// `beside` is the name of another model whose answer stands beside, if one is chosen.
// Of several structures `alone` is the one that is shown by itself, from 1; 0 shows all of them in one picture.
// Conditions are "required" or "forbidden", by the keys of parts.
export const state = { ...DEFAULTS, model: "", conditions: new Map() };
export const models = [];
export const card = () => models.find((model) => model.name === state.model) ?? models[0];
export const degrees = () => Math.min(Math.max(10 ** Number(state.temperature) || 1, 0.1), 10);

let react = () => {};

// What happens at every change; it is told for how many milliseconds to wait for others.
export function whenChanged(given) {
  react = given;
}

// Whether the view has several structures, which are drawn one over the other first.
export const hasSeveral = () => !["mode", "marginals"].includes(state.view);

export function change(values, wait = 0) {
  Object.assign(state, values);
  react(wait);
}

// Parts have a key, in which the fields stand one after the other: in the address, and to find them again.

export const key = (part) => Object.values(part).join(".");

export function part(kind, text) {
  const fields = FIELDS[kind], pieces = text.split(".");
  const values = [...pieces.slice(0, fields.length - 1), pieces.slice(fields.length - 1).join(".")];
  return Object.fromEntries(fields.map((field, place) =>
    [field, field === "tag" || field === "label" ? values[place] : Number(values[place])]));
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
  const kind = card()?.part, is = (text) => kind && key(part(kind, text)) === text;
  state.conditions = new Map(["required", "forbidden"].flatMap((condition) =>
    address.getAll(condition).filter(is).map((text) => [text, condition])));
}
