// The page: starts everything, hears what the server says, and draws when there is something new.

import { $, made, say, setOptions } from "./dom.js";
import { app, ask, connect, drawWith, redraw } from "./link.js";
import { recordFrame, screenshot, startFiles, toggleRecord } from "./files.js";
import { fillKinds, mark, marks, showMarks, startMarking } from "./marking.js";
import { checkView, clearPanes, drawPanes, orbit, painter, redrawSoon, setViewByNumber, startPanes, takeColors } from "./panes.js";
import { AnglePlot } from "./plot.js";
import { choose, colorParts, drawLegend, openTab, showDifference, showPeople, showReading, showState, startSide } from "./side.js";

const SIDE_MS = 200; // between two writings of tables and plots, which nobody reads faster
const plot = new AnglePlot($("plot"), $("plotkey"));
const shownAt = [];
const side = { time: -Infinity, timer: 0 };

// -- messages ---------------------------------------------------------------------------------------------------------

function hear(message) {
  if (message.kind === "hello") {
    app.hello = message;
    for (const name of ["scales", "cameras"]) {
      $(name).replaceChildren(...message[name].map((value) => made("option", undefined, { value })));
    }
    fillKinds(message);
  } else if (message.kind === "state") setState(message);
  else if (message.kind === "reading") showReading(message);
  else if (message.kind === "error") say(message.text);
}

function setState(state) {
  const old = app.state, isOther = ["opened", "model", "compare"].some((name) => old?.[name] !== state[name]);
  app.state = state;
  $("source").textContent = $("source").title = state.source;
  $("live").hidden = !state.live;
  const models = app.hello.models.map((name, i) => [i, name]);
  setOptions($("model"), models, state.model);
  setOptions($("compare"), [["", "nothing"], ...models], state.compare ?? "");
  document.body.classList.toggle("comparing", state.compare !== null);
  if (isOther) {
    app.chosen.clear();
    drawLegend();
  }
  if (old && old.opened !== state.opened) forget();
  colorParts();
  showState();
  showMarks();
  $("seek").max = Math.max(0, state.total - 1);
  for (const id of ["seek", "back", "forth", "speed"]) $(id).disabled = state.live || state.total < 2;
  $("play").disabled = !state.live && state.total < 2;
  $("speed").value = String(state.speed);
  document.body.classList.toggle("playing", state.playing);
  $("play").setAttribute("aria-label", state.playing ? "pause" : "play");
  checkView();
}

// another source: what was shown of the last one must not stand under its name
function forget() {
  app.frame = null;
  plot.clear();
  orbit.reset();
  clearTimeout(side.timer);
  for (const id of ["people", "stages", "findings"]) $(id).replaceChildren();
  for (const id of ["name", "rate", "where", "notes", "said_unit", "said_camera", "said_orientation"]) $(id).textContent = "";
  redraw();
}

function takeFrame(frame) {
  const isNext = app.frame?.index !== frame.index || app.frame?.name !== frame.name;
  app.frame = { ...frame, isFresh: true };
  painter.setFrame(frame);
  orbit.follow(frame);
  if (isNext || !plot.history.length) plot.add(frame.people);
  say("");
  if (frame.playing) redrawSoon();
  else redraw();
}

function end(reason) {
  say(`The viewer has closed the connection${reason ? `: ${reason}` : ""}. Reload the page when it runs again.`);
  document.body.dataset.closed = "yes";
}

// -- drawing ----------------------------------------------------------------------------------------------------------

function draw() {
  if (!app.state) return;
  if (!app.frame) {
    clearPanes();
    return;
  }
  drawPanes();
  if (app.frame.isFresh) shownNow();
}

// a frame is on the screen: acknowledge it, so that the next may come, and write what there is to say about it
function shownNow() {
  const { frame } = app, now = performance.now();
  frame.isFresh = false;
  ask("shown", frame.number);
  recordFrame();
  shownAt.push(now);
  while (shownAt.length > 60 || now - shownAt[0] > 3000) shownAt.shift();
  Object.assign(document.body.dataset, { frame: frame.index, shown: frame.number });
  if (document.activeElement !== $("seek") || frame.playing) $("seek").value = frame.index;
  clearTimeout(side.timer);
  const wait = side.time + SIDE_MS - now;
  if (wait <= 0) writeSide();
  else side.timer = setTimeout(writeSide, wait);
}

function writeSide() {
  const { frame, state } = app;
  side.time = performance.now();
  const rate = shownAt.length > 2 ? (shownAt.length - 1) * 1000 / (shownAt.at(-1) - shownAt[0]) : 0;
  $("rate").textContent = rate && frame.playing ? `${rate.toFixed(1)} frames/s` : "";
  const times = Object.entries({ ...frame.stages, ...frame.delays });
  $("stages").replaceChildren(...times.map(([name, ms]) => {
    const item = made("span", `${name} `);
    item.append(made("b", `${ms.toFixed(ms < 10 ? 1 : 0)} ms`));
    return item;
  }));
  $("where").textContent = state.live ? `frame ${frame.index + 1}` : `${frame.index + 1} / ${frame.total}`;
  $("name").textContent = frame.name;
  showPeople();
  showDifference();
  if (marks.list(frame.name).length || $("marklist").childElementCount) showMarks();
  plot.draw();
}

// -- start ------------------------------------------------------------------------------------------------------------

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  takeColors();
  plot.draw();
}

function startTransport() {
  $("play").onclick = () => ask(app.state.playing ? "pause" : "play");
  $("back").onclick = () => ask("step", -1);
  $("forth").onclick = () => ask("step", 1);
  $("seek").oninput = () => ask("seek", Number($("seek").value));
  $("speed").onchange = () => ask("speed", Number($("speed").value));
  $("model").onchange = () => ask("model", Number($("model").value));
  $("compare").onchange = () => ask("compare", $("compare").value === "" ? null : Number($("compare").value));
}

function startPage() {
  const isDark = () => getComputedStyle(document.documentElement).colorScheme === "dark";
  $("theme").onclick = () => setTheme(isDark() ? "light" : "dark");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme());
  $("message_close").onclick = () => say("");
  $("keys").onclick = () => $("help").showModal();
  $("help_close").onclick = () => $("help").close();
  document.addEventListener("keydown", key);
}

const KEYS = {
  " ": () => $("play").click(),
  ArrowLeft: (event) => ask("step", event.shiftKey ? -10 : -1),
  ArrowRight: (event) => ask("step", event.shiftKey ? 10 : 1),
  Home: () => ask("seek", 0),
  End: () => ask("seek", Math.max(0, app.state.total - 1)),
  s: screenshot,
  r: toggleRecord,
  o: () => $("open").click(),
  m: () => {
    $("marking").click();
    if (app.isMarking) openTab("mark");
  },
  Escape: () => choose(null),
  "?": () => $("keys").click(),
};

function key(event) {
  const isTyped = event.target.matches("input:not([type=checkbox]):not([type=range]), select, textarea");
  if (isTyped || event.ctrlKey || event.metaKey || event.altKey || $("help").open || !app.state) return;
  const act = /^[1-7]$/.test(event.key) ? () => setViewByNumber(Number(event.key)) : KEYS[event.key];
  if (!act) return;
  act(event);
  event.preventDefault();
}

function clicked(pane, pixel) {
  if (app.isMarking) {
    mark(pixel);
    return;
  }
  const part = (pane === "other" ? app.frame.parts2 : app.frame.parts)[pixel.i];
  choose(part === 255 ? null : part);
}

try {
  startPanes({ onPixel: clicked, marksOf: (name) => marks.list(name) });
  startSide();
  startMarking();
  startFiles(() => openTab("reading"));
  startTransport();
  startPage();
  setTheme();
  drawWith(draw);
  connect({ onText: hear, onFrame: takeFrame, onEnd: end });
} catch (error) {
  say(String(error.message || error));
}
