// The side panel and its tabs: people with their joints, the legend of parts, and the reading options.

import { $, copy, made } from "./dom.js";
import { app, ask, redraw } from "./link.js";
import { painter } from "./panes.js";

const percent = (share) => `${Math.round(100 * share)} %`;
const tabs = [...document.querySelectorAll("#tabs button")];

export function openTab(name) {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", tab.dataset.tab === name);
    $(`tab_${tab.dataset.tab}`).hidden = tab.dataset.tab !== name;
  }
  redraw();
}

export function startSide() {
  for (const tab of tabs) tab.onclick = () => openTab(tab.dataset.tab);
  $("filter").oninput = drawLegend;
  $("all").onclick = () => choose(null);
  $("reading").onchange = sendReading;
  $("reading").onsubmit = (event) => {
    event.preventDefault();
    sendReading();
  };
  $("reopen").onclick = () => ask("reopen");
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.onclick = () => copy($(button.dataset.copy), button);
  }
  openTab("people");
}

// -- people -----------------------------------------------------------------------------------------------------------

export function showPeople() {
  const { people } = app.frame;
  $("people").replaceChildren(...(people.length ? people.map(person) : [made("p", "Nobody was found in this frame.")]));
}

function person({ id, probability, confidence, facing, joints }) {
  const box = made("section"), table = made("table"), head = made("tr");
  const facts = [`${percent(probability)} a person`, `labels ${percent(confidence)} sure`];
  if (facing != null) facts.push(`facing ${Math.round(facing)}\u00b0`);
  box.append(made("h3", `Person ${id}`), made("p", facts.join(" \u00b7 "), { className: "facts" }));
  head.append(...["joint", "x", "y", "z, m", "sure"].map((text) => made("th", text)));
  table.append(head, ...Object.entries(joints).map(([name, [x, y, z, sure]]) => {
    const row = made("tr", undefined, { className: sure < 0.3 ? "weak" : "" }), cell = made("td");
    const bar = made("i", undefined, { className: "bar" }), full = made("i");
    full.style.width = `${100 * sure}%`;
    bar.append(full);
    cell.append(bar, made("span", percent(sure)));
    row.append(made("td", name), ...[x, y, z].map((v) => made("td", v.toFixed(2).replace("-", "\u2212"))), cell);
    return row;
  }));
  if (Object.keys(joints).length) box.append(table);
  return box;
}

// -- parts ------------------------------------------------------------------------------------------------------------

export function drawLegend() {
  const wanted = $("filter").value.trim().toLowerCase(), { names, colors } = app.state.parts[0];
  const entries = names.map((name, i) => ({ name, i })).filter(({ name }) => name.includes(wanted));
  $("legend").replaceChildren(...entries.map(({ name, i }) => {
    const item = made("li"), square = made("i");
    const button = made("button", undefined, { title: "select this part and dim the others" });
    const isDim = app.chosen.size > 0 && !app.chosen.has(i);
    button.classList.toggle("dim", isDim);
    button.setAttribute("aria-pressed", app.chosen.has(i));
    square.style.background = `rgb(${colors[i].join(",")})`;
    button.append(square, name);
    button.onclick = () => choose(i);
    item.append(button);
    return item;
  }));
  if (!entries.length) $("legend").append(made("li", "No part has this name."));
}

export function choose(part) {
  if (part === null) app.chosen.clear();
  else if (!app.chosen.delete(part)) app.chosen.add(part);
  drawLegend();
  colorParts();
}

export function colorParts() {
  const [first, second = first] = app.state.parts, isSameSet = String(first.names) === String(second.names);
  painter.setColors("palette", first.colors, app.chosen);
  painter.setColors("palette2", second.colors, isSameSet ? app.chosen : new Set());
  redraw();
}

// share of people's pixels on which the two models differ
export function showDifference() {
  const { parts, parts2 } = app.frame;
  if (!parts2) return;
  let n = 0, differ = 0;
  for (let i = 0; i < parts.length; i++) {
    if (parts[i] === 255) continue;
    n += 1;
    differ += parts[i] !== parts2[i];
  }
  $("differ").textContent = n ? `Difference: ${(100 * differ / n).toFixed(1)} % of people's pixels` : "Difference";
}

// -- reading ----------------------------------------------------------------------------------------------------------

const TEXTS = ["scale", "camera", "size", "topic", "rotate", "people"], FLAGS = ["flip", "track"];

export function showState() {
  const { state } = app, form = $("reading").elements;
  for (const name of TEXTS) if (document.activeElement !== form[name]) form[name].value = String(state.reading[name]);
  for (const name of FLAGS) form[name].checked = state.reading[name];
  for (const name of ["scale", "camera", "size", "topic", "rotate", "flip"]) form[name].disabled = state.live;
  $("given_room").hidden = !state.has_room;
  $("reopen").hidden = !state.uploaded;
  $("command").textContent = state.command;
  $("python").textContent = state.python;
}

export function showReading({ unit, camera, orientation, notes, findings }) {
  $("said_unit").textContent = unit;
  $("said_camera").textContent = camera;
  $("said_orientation").textContent = orientation;
  $("notes").textContent = notes;
  $("findings").replaceChildren(...findings.map((text) => made("li", text)));
}

function sendReading() {
  const form = $("reading").elements;
  const value = Object.fromEntries(TEXTS.map((name) => [name, form[name].value.trim()]));
  for (const name of FLAGS) value[name] = form[name].checked;
  ask("read", { ...value, rotate: Number(value.rotate) });
}
