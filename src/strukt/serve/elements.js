// Helpers: elements, numbers, and requests.

export function make(kind, properties, ...children) {
  const made = Object.assign(document.createElement(kind), properties);
  made.append(...children);
  return made;
}

export function short(value) {
  if (value < 1e-300) return "< 1e-300";
  return value >= 0.0995 ? value.toFixed(2) : value >= 1e-4 ? value.toPrecision(2) : value.toExponential(0);
}

export const post = (address, body, signal) => fetch(address, {
  method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal,
});
