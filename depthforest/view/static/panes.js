// The panes: their layout, their content, and the pointer.

import { $ } from "./dom.js";
import { app, redraw } from "./link.js";
import { CpuPainter } from "./cpu.js";
import { GpuPainter, hasGpu } from "./gpu.js";
import { Orbit } from "./orbit.js";
import { clipped, drawMarks, drawSkeletons, project, toPicture } from "./overlay.js";

const stage = $("stage"), over = $("over"), tip = $("tip");
const nodes = [...document.querySelectorAll(".pane")], buttons = [...document.querySelectorAll("#views button")];

export const orbit = new Orbit();
export let painter = null;
let view = "all", empty = [0, 0, 0], listMarks = () => [];

// `onPixel` is called with a pane's name and a pixel that was clicked; `marksOf` lists the marks of a frame
export function startPanes({ onPixel, marksOf }) {
  painter = painterOn($("gl"), new URLSearchParams(location.search).get("draw"));
  listMarks = marksOf;
  for (const pane of nodes) {
    if (pane.dataset.pane === "cloud") watchCloud(pane);
    else watchPicture(pane, onPixel);
  }
  for (const button of buttons) button.onclick = () => setView(button.dataset.view);
  for (const id of ["only", "bones"]) $(id).onchange = redraw;
  new ResizeObserver(redraw).observe(stage);
  setView(matchMedia("(max-width: 760px)").matches ? "parts" : "all");
}

// `how`, from the address, forces gpu or cpu; by default the GPU is used if there is one
function painterOn(canvas, how) {
  return how === "gpu" || (how !== "cpu" && hasGpu()) ? new GpuPainter(canvas) : new CpuPainter(canvas);
}

export function setView(name) {
  const isCompared = app.state?.compare != null;
  view = isCompared || !["other", "difference"].includes(name) ? name : "all";
  for (const pane of nodes) pane.hidden = view !== "all" && pane.dataset.pane !== view;
  $("panes").className = view !== "all" ? "one" : isCompared ? "many" : "";
  for (const button of buttons) button.setAttribute("aria-pressed", button.dataset.view === view);
  redraw();
}

const REST_MS = 150; // after this time without changes, the picture is drawn at full quality
let unrest = 0;

// draw soon and, without a GPU, coarsely, because the next picture may follow soon
export function redrawSoon() {
  clearTimeout(unrest);
  unrest = setTimeout(() => {
    unrest = 0;
    if (painter.isCoarse) redraw();
  }, REST_MS);
  redraw();
}

export function checkView() { setView(view); }

// pane number `n`, from 1, of the available ones
export function setViewByNumber(n) {
  const shown = buttons.filter((button) => button.offsetParent);
  if (shown[n - 1]) setView(shown[n - 1].dataset.view);
}

export function takeColors() {
  const color = getComputedStyle(document.documentElement).getPropertyValue("--stage").trim();
  empty = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16) / 255);
  redraw();
}

// the boxes of a pane and of its picture, in whole canvas pixels, so that clicks hit the pixel that is drawn
function boxes(pane) {
  const outer = stage.getBoundingClientRect(), inner = pane.getBoundingClientRect(), k = painter.canvas.width / outer.width;
  const [left, top, width, height] = [inner.left - outer.left, inner.top - outer.top, inner.width, inner.height].map((v) => v * k);
  const fit = Math.min(width / app.frame.width, height / app.frame.height);
  const [w, h] = [Math.round(app.frame.width * fit), Math.round(app.frame.height * fit)];
  const picture = { x: Math.round(left + (width - w) / 2), y: Math.round(top + (height - h) / 2), w, h };
  const box = { x: Math.round(left), y: Math.round(top), w: Math.round(width), h: Math.round(height) };
  return { box, picture, outer, k };
}

// the canvases, bottom first: 2D drawing needs a canvas of its own above the GPU's
export function layers() { return painter.pen ? [painter.canvas] : [painter.canvas, over]; }

export function clearPanes() {
  painter.begin(empty);
  if (!painter.pen) over.getContext("2d").clearRect(0, 0, over.width, over.height);
}

export function drawPanes(isAtRest = !unrest) {
  const { frame, hello } = app, outer = stage.getBoundingClientRect(), ratio = Math.min(devicePixelRatio || 1, 2);
  const [width, height] = [Math.round(outer.width * ratio), Math.round(outer.height * ratio)];
  for (const canvas of layers()) {
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  }
  const pen = painter.pen ?? over.getContext("2d");
  if (!painter.pen) pen.clearRect(0, 0, width, height);
  painter.begin(empty);
  for (const pane of nodes) {
    if (!pane.offsetParent) continue;
    const { box, picture, k } = boxes(pane), name = pane.dataset.pane, isSurface = ["depth", "parts"].includes(name);
    pane.dataset.picture = [picture.x, picture.y, picture.w, picture.h].map((v) => v / k).join(" "); // for tests
    let place = null;
    if (name === "cloud") {
      const matrix = orbit.matrix(box.w / box.h);
      painter.drawCloud(box, matrix, orbit.zoom, $("only").checked, isAtRest);
      place = (point) => project(matrix, point, box);
    } else {
      painter.drawFlat(picture, name);
      if (isSurface && !app.isMarking) place = (point) => toPicture(frame, point, picture);
    }
    clipped(pen, box, () => {
      if (place && $("bones").checked) drawSkeletons(pen, frame.people, hello.bones, place, ratio);
      if (isSurface) drawMarks(pen, frame, listMarks(frame.name), picture, ratio);
    });
  }
}

// -- pointer ----------------------------------------------------------------------------------------------------------

// the frame's pixel under the center of the screen pixel at the pointer
function pixelAt(pane, { clientX, clientY }) {
  const { picture, outer, k } = boxes(pane), { width, height } = app.frame;
  const middle = (css) => Math.floor(css * k) + 0.5;
  const col = Math.floor((middle(clientX - outer.left) - picture.x) / picture.w * width);
  const row = Math.floor((middle(clientY - outer.top) - picture.y) / picture.h * height);
  return col >= 0 && row >= 0 && col < width && row < height ? { col, row, i: row * width + col } : null;
}

// part, probability, distance, pixel
export function describe(name, { col, row, i }) {
  const { frame, state } = app, mm = frame.depth[i], where = `col ${col}, row ${row}`;
  if (!mm) return `no reading \u00b7 ${where}`;
  const label = (parts, sure, set) => (parts[i] === 255 ? "nobody" : `${set.names[parts[i]]} ${Math.round(sure[i] / 2.55)} %`);
  const first = label(frame.parts, frame.sure, state.parts[0]);
  const second = frame.parts2 ? label(frame.parts2, frame.sure2, state.parts[1]) : "";
  const what = name === "other" ? second : name === "difference" ? `${first} / ${second}` : first;
  return `${what} \u00b7 ${(mm / 1000).toFixed(2)} m \u00b7 ${where}`;
}

function showTip(name, pixel, event) {
  tip.hidden = !pixel;
  if (!pixel) return;
  tip.textContent = describe(name, pixel);
  const outer = stage.getBoundingClientRect(), x = event.clientX - outer.left, y = event.clientY - outer.top;
  const isRight = x + tip.offsetWidth + 20 > outer.width;
  tip.style.left = `${isRight ? Math.max(0, x - tip.offsetWidth - 12) : x + 14}px`;
  tip.style.top = `${Math.max(0, Math.min(outer.height - tip.offsetHeight - 4, y + 14))}px`;
}

function watchPicture(pane, onPixel) {
  const name = pane.dataset.pane;
  for (const kind of ["pointermove", "pointerdown"]) {
    pane.addEventListener(kind, (event) => app.frame && showTip(name, pixelAt(pane, event), event));
  }
  // click events have whole pixels, which can be a row off; the pointer-down position is exact
  let down = null;
  pane.addEventListener("pointerdown", ({ clientX, clientY }) => { down = { clientX, clientY }; });
  // after a touch, the tip stays so that it can be read
  pane.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") tip.hidden = true; });
  pane.addEventListener("click", (event) => {
    const pixel = app.frame && pixelAt(pane, down ?? event);
    if (pixel) onPixel(name, pixel);
  });
}

// one finger or button turns, two fingers or the wheel zoom, the right button or shift moves
function watchCloud(pane) {
  const fingers = new Map();
  pane.addEventListener("contextmenu", (event) => event.preventDefault());
  pane.addEventListener("pointerdown", (event) => {
    tip.hidden = true;
    pane.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  for (const kind of ["pointerup", "pointercancel"]) {
    pane.addEventListener(kind, (event) => fingers.delete(event.pointerId));
  }
  pane.addEventListener("pointermove", (event) => {
    const last = fingers.get(event.pointerId);
    if (!last) return;
    const now = [event.clientX, event.clientY], [dx, dy] = [now[0] - last[0], now[1] - last[1]];
    if (fingers.size === 2) {
      const [, other] = [...fingers].find(([id]) => id !== event.pointerId);
      const far = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      orbit.approach(far(last) / Math.max(far(now), 1));
      orbit.pan(dx / 2, dy / 2);
    } else if (event.buttons & 2 || event.shiftKey) orbit.pan(dx, dy);
    else orbit.turn(dx, dy);
    fingers.set(event.pointerId, now);
    redrawSoon();
  });
  pane.addEventListener("wheel", (event) => {
    event.preventDefault();
    orbit.approach(Math.exp(event.deltaY * 0.001));
    redrawSoon();
  }, { passive: false });
  pane.addEventListener("dblclick", () => {
    orbit.reset();
    if (app.frame) orbit.place(app.frame);
    redrawSoon();
  });
}
