// Parts of structures: arcs, tags and spans, their keys, and their names.

export const FIELDS = { arc: ["word", "head", "relation"], tag: ["word", "tag"], span: ["start", "end", "label"] };

export const kindOf = (part) => ("head" in part ? "arc" : "tag" in part ? "tag" : "span");
export const labelOf = (part) => part[FIELDS[kindOf(part)].at(-1)];
export const withLabel = (part, label) => ({ ...part, [FIELDS[kindOf(part)].at(-1)]: label || undefined });

// Two parts with the same slot exclude each other: a word has one tag and one head, a span one label.
export const slot = (part) => [kindOf(part), part.word ?? part.start, part.end ?? ""].join(".");

// The key of a part is its kind and its fields; it identifies the part in the address and on the page.
export function key(part) {
  const kind = kindOf(part);
  return [kind, ...FIELDS[kind].map((field) => part[field]).filter((value) => value !== undefined)].join(".");
}

// Returns the part with this key, or null if there is no such part.
export function part(text) {
  const [kind, ...pieces] = text.split("."), fields = FIELDS[kind];
  if (!fields) return null;
  const count = fields.length - 1, label = pieces.slice(count).join(".");
  const values = [...pieces.slice(0, count).map(Number), label || undefined];
  const found = Object.fromEntries(fields.map((field, place) => [field, values[place]]).filter(([, value]) => value !== undefined));
  return key(found) === text && (label || kind === "arc") ? found : null;
}

// The words of the answer on the page, which name parts.
let words = [];

export const setWords = (forms) => { words = forms; };
export const sameWords = (forms) => forms.join(" ") === words.join(" ");
export const phrase = ({ start, end }) => words.slice(start, end).join(" ");

// A word, with its number if the form occurs several times.
export function word(place) {
  if (place === 0) return "root";
  const form = words[place - 1] ?? "?";
  return words.indexOf(form) === words.lastIndexOf(form) ? form : `${form} (${place})`;
}

export const place = (part) => ({
  arc: () => `${word(part.head)} → ${word(part.word)}`, tag: () => word(part.word), span: () => phrase(part),
})[kindOf(part)]();

// Labels of several entities over the same words are joined by a TAB.
export const readable = (label) => label.replaceAll("\t", " + ");
export const name = (part) => [place(part), readable(labelOf(part) ?? "")].filter(Boolean).join(" ");
