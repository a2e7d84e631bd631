// The page of the service: every change of the settings sends a new question.

import { askBeside, compare } from "./beside.js";
import { chooseByKey } from "./choice.js";
import { showConditions } from "./conditions.js";
import { draw } from "./drawing.js";
import { make, post } from "./elements.js";
import { annotate } from "./files.js";
import { askBeforeLeaving, keepConditions, keepWhole, offer, saveKept, withhold } from "./keep.js";
import { part } from "./parts.js";
import { card, change, degrees, hasSeveral, kinds, models, recall, remember, state, whenChanged } from "./state.js";

const NAMES = { mode: "Mode", marginals: "Marginals", samples: "Samples", kbest: "k-best", sparsemap: "SparseMAP" };
const NOTHING = { words: [], structures: [], alternatives: [] };
const PAUSE = 180;  // milliseconds without a keystroke, after which the text is sent

const element = (id) => document.getElementById(id);
let asked = null, timer = 0, drawn = "";

// Questions and answers.

whenChanged((wait) => {
  show();
  withhold();
  clearTimeout(timer);
  timer = setTimeout(ask, wait);
});

function question() {
  const parts = (condition) => [...state.conditions].filter(([, each]) => each === condition).map(([text]) => part(text));
  return {
    model: card().name, texts: [state.text], view: state.view, temperature: degrees(), k: Number(state.k), seed: Number(state.seed),
    pictures: true, annotation: true, required: parts("required"), forbidden: parts("forbidden"),
  };
}

async function ask() {
  remember();
  asked?.abort();
  if (!state.text.trim()) {
    complain("");
    return showAnswer(NOTHING);
  }
  const mine = asked = new AbortController(), start = performance.now();
  try {
    askBeside(question(), mine.signal);
    const response = await post("predict", question(), mine.signal);
    const answer = await response.json();
    if (mine.signal.aborted) return;
    if (response.status === 503) {
      timer = setTimeout(ask, 1000);
      element("status").textContent = answer.error;
    } else if (response.ok) {
      complain("");
      showAnswer(answer.answers[0]);
      drawn = subject();
      element("status").textContent = `${Math.round(performance.now() - start)} ms`;
    } else {
      complain(answer.error);
    }
  } catch (error) {
    if (error.name !== "AbortError") complain("The service does not answer; is it still running?");
  }
}

function showAnswer(answer) {
  draw(answer);
  offer(answer);
  compare(answer);
}

// An error greys out the earlier answer for the same sentence, and removes that for another sentence.

const subject = () => `${state.model} ${state.text}`;

function complain(message) {
  if (message && drawn !== subject()) showAnswer(NOTHING);
  if (message) withhold();
  element("answer").classList.toggle("stale", Boolean(message));
  element("problem").textContent = message;
  element("problem").hidden = !message;
  element("status").textContent = "";
}

// Settings.

function show() {
  const { views = [] } = card() ?? {};
  if (!views.includes(state.view)) state.view = views[0] ?? "mode";
  element("model").value = state.model;
  if (state.beside === state.model) state.beside = "";
  for (const option of element("beside").options) option.hidden = option.value === state.model;
  element("beside").value = state.beside;
  showExamples();
  if (element("text").value !== state.text) element("text").value = state.text;
  grow();
  const tabs = views.map(tab), shown = element("tabs").children;
  if (tabs.length !== shown.length || tabs.some((each) => !each.isConnected)) element("tabs").replaceChildren(...tabs);
  element("panel").setAttribute("aria-labelledby", `tab-${state.view}`);
  element("temperature").value = state.temperature;
  element("temperature").disabled = views.length < 2;
  element("degrees").textContent = degrees().toFixed(2);
  element("temperature").setAttribute("aria-valuetext", degrees().toFixed(2));  // its value is the logarithm
  element("k").value = state.k;
  element("count").hidden = !["samples", "kbest"].includes(state.view);
  element("again").hidden = state.view !== "samples";
  element("keys").hidden = !hasSeveral();
  element("hint").textContent = hint();
  showConditions();
}

function hint() {
  const names = { arc: "an arc", tag: "a tag", span: "a label" }, known = kinds();
  if (card()?.task === "nli") return "The two sentences to compare stand on two lines; press Shift+Enter between them.";
  if (!known.length) return "";
  const what = known.map((kind) => names[kind]).join(", ").replace(/, ([^,]*)$/, " or $1");
  return [
    `Click ${what}, or press Enter on it, to require it; again to forbid it; once more to release it. Labels of required parts can be changed in the list above the picture.`,
    known.includes("arc") ? "Click a relation to require it with its arc. For a new arc, click a word and then its head." : "",
    known.includes("span") ? "For a new span, click its first and its last word." : "",
  ].filter(Boolean).join(" ");
}

// Sentences of the development corpus; the model is less accurate on other kinds of text.

function showExamples() {
  const examples = card()?.examples ?? [];
  element("examples").hidden = examples.length === 0;
  element("examples").replaceChildren(...examples.map((text) => {
    const button = make("button", { type: "button", textContent: text.replace("\n", " / "), title: text, onclick: () => change(fresh({ text })) });
    button.setAttribute("aria-pressed", text === state.text);
    return button;
  }));
}

const fresh = (values) => ({ ...values, alone: "0", conditions: new Map() });  // conditions belong to one sentence and one model

function tab(view) {
  const chosen = view === state.view;
  const button = element(`tab-${view}`) ?? make("button", { id: `tab-${view}`, type: "button", textContent: NAMES[view], onclick: () => change({ view, alone: "0" }) });
  button.tabIndex = chosen ? 0 : -1;
  button.setAttribute("role", "tab");
  button.setAttribute("aria-controls", "panel");
  button.setAttribute("aria-selected", chosen);
  return button;
}

function move(event) {
  const { views } = card(), place = views.indexOf(state.view);
  const target = {
    ArrowRight: (place + 1) % views.length, ArrowLeft: (place + views.length - 1) % views.length, Home: 0, End: views.length - 1,
  }[event.key];
  if (target === undefined) return;
  event.preventDefault();
  change({ view: views[target], alone: "0" });
  element(`tab-${views[target]}`).focus();
}

// An example of the previous model is replaced by one of the chosen model.

function choose(model) {
  const isExample = card()?.examples?.includes(state.text);
  change(fresh({ model }));
  if (isExample && card().examples.length) change({ text: card().examples[0] });
}

function grow() {
  const text = element("text");
  text.style.height = "auto";
  text.style.height = `${text.scrollHeight + 2}px`;
}

async function copy() {
  const button = element("link");
  try {
    await navigator.clipboard.writeText(location.href);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Copy it from the address bar";
  }
  setTimeout(() => { button.textContent = "Copy link"; }, 1500);
}

async function start() {
  try {
    models.push(...await (await fetch("models")).json());
  } catch {
    return complain("The service does not answer; is it still running?");
  }
  element("model").replaceChildren(...models.map((model) => new Option(`${model.name} (${model.task})`, model.name)));
  element("beside").append(...models.map(({ name, task }) => new Option(`vs. ${name} (${task})`, name)));
  element("beside").parentNode.hidden = models.length < 2;
  element("text").addEventListener("input", (event) => change(fresh({ text: event.target.value }), PAUSE));
  element("text").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    change({});
  });
  element("model").addEventListener("change", (event) => choose(event.target.value));
  element("beside").addEventListener("change", (event) => change({ beside: event.target.value }));
  element("temperature").addEventListener("input", (event) => change({ temperature: event.target.value }, PAUSE / 3));
  element("k").addEventListener("input", (event) => event.target.validity.valid && event.target.value && change({ k: event.target.value }, PAUSE));
  element("tabs").addEventListener("keydown", move);
  element("again").addEventListener("click", () => change({ seed: String(Number(state.seed) + 1), alone: "0" }));
  element("link").addEventListener("click", copy);
  element("choose").addEventListener("click", () => element("upload").click());
  element("upload").addEventListener("change", ({ target }) => {
    if (target.files.length) annotate(target.files[0]);
    target.value = "";  // the same file may be chosen again
  });
  element("keep-whole").addEventListener("click", keepWhole);
  element("keep-conditions").addEventListener("click", keepConditions);
  element("save").addEventListener("click", saveKept);
  addEventListener("beforeunload", askBeforeLeaving);
  addEventListener("keydown", chooseByKey);
  addEventListener("hashchange", () => { recall(); change({}); });
  addEventListener("resize", grow);
  recall();
  change({});
}

start();
