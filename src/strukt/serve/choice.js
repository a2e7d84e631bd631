// Choice among several structures: all in one picture first, single ones by buttons and keys.

import { make, short } from "./elements.js";
import { remember, state } from "./state.js";

const element = (id) => document.getElementById(id);
const buttons = () => [...element("choice").children];

// Takes the shares of the structures; an empty list if there is nothing to choose.
export function showChoice(shares) {
  element("choice").hidden = shares.length === 0;
  element("choice").replaceChildren(...(shares.length ? [button("All", 0, 0), ...shares.map((share, place) => button(`${place + 1}`, place + 1, share))] : []));
  showAlone();
}

function button(text, place, share) {
  const made = make("button", { type: "button", className: "option", onclick: () => choose(place) }, text);
  if (place) {
    made.append(make("span", { textContent: short(share) }));
    made.style.setProperty("--p", share);
  }
  if (place < 10) made.setAttribute("aria-keyshortcuts", place || "0 Escape");
  made.setAttribute("aria-label", place ? `Structure ${place} alone, ${short(share)}` : "All in one picture");
  return made;
}

function choose(place) {
  state.alone = String(place);
  remember();
  showAlone();
}

function showAlone() {
  const options = buttons();
  if (!options.length) return;
  const alone = options[state.alone] ? Number(state.alone) : 0;
  options.forEach((each, place) => each.setAttribute("aria-pressed", place === alone));
  [...element("panel").children].forEach((figure, place) => { figure.hidden = place !== alone; });
}

// Digits choose a structure, unless they are typed into a field; its button gets the focus, so that screen readers read it.

export function chooseByKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || target.closest("input, textarea, select")) return;
  const chosen = buttons()[key === "Escape" ? 0 : /^[0-9]$/.test(key) ? Number(key) : -1];
  if (!chosen) return;
  event.preventDefault();
  chosen.click();
  chosen.focus({ preventScroll: true });
}
