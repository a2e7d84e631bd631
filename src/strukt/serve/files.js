// Files of the user, which the service annotates and offers for download.

import { make, post } from "./elements.js";
import { card } from "./state.js";

const element = (id) => document.getElementById(id);
let asked = null;  // the request for the last file that was chosen

export async function annotate(file) {
  asked?.abort();
  const mine = asked = new AbortController(), { name: model } = card();
  tell(`Annotating ${file.name} with ${model} ...`);
  try {
    const text = await read(file);
    const response = await post("annotate", { name: file.name, text, model }, mine.signal);
    const answer = await response.json();
    if (mine.signal.aborted) return;
    if (response.status === 413) tell(`${file.name} is too large for this page; annotate it with: strukt predict MODEL ${file.name}`, true);
    else if (response.ok) offer(answer);
    else tell(answer.error, true);
  } catch (error) {
    if (mine.signal.aborted) return;
    tell(error instanceof FileFault ? error.message : "The service does not answer; is it still running?", true);
  }
}

class FileFault extends Error {}

async function read(file) {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    throw new FileFault(`${file.name} is not UTF-8 text; choose a text file, unpacked if it was compressed`);
  }
}

function offer({ name, text, sentences, words, notes }) {
  const number = (count, what) => `${count.toLocaleString("en")} ${what}${count === 1 ? "" : "s"}`;
  tell(`${number(sentences, "sentence")}, ${number(words, "word")}. `);
  element("file").append(
    make("button", { type: "button", textContent: `Download ${name}`, onclick: () => save(name, text) }),
    ...notes.map((note) => make("span", { className: "note", textContent: note })),
  );
}

export function save(name, text) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);  // the browser has read it by then
}

function tell(message, isFault = false) {
  element("file").textContent = message;
  element("file").hidden = false;
  element("file").classList.toggle("fault", isFault);
}
