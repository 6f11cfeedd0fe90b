"use strict";
/* Labels a dropped picture with the forest in this page; nothing is sent anywhere. */

const FOCAL_SHARE = 0.8203; /* focal length over width of the first Kinect: 525 / 640 */
const NEAR_MM = 60; /* neighbors whose depths differ by at most this are one surface */
const NO_PART = 255;
const BONES = [
  ["head", "neck"], ["neck", "spine"], ["neck", "shoulder_l"], ["neck", "shoulder_r"], ["shoulder_l", "elbow_l"],
  ["shoulder_r", "elbow_r"], ["elbow_l", "wrist_l"], ["elbow_r", "wrist_r"], ["wrist_l", "hand_l"], ["wrist_r", "hand_r"],
  ["spine", "hip_l"], ["spine", "hip_r"], ["hip_l", "knee_l"], ["hip_r", "knee_r"], ["knee_l", "ankle_l"],
  ["knee_r", "ankle_r"], ["ankle_l", "foot_l"], ["ankle_r", "foot_r"],
];

const byId = (name) => document.getElementById(name);
const model = JSON.parse(byId("model").textContent);
const page = { frame: null, seed: null, result: null, forest: null };

const bytesOf = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

async function loadForest() {
  page.forest = (await WebAssembly.instantiate(bytesOf(byId("module").textContent), {})).instance.exports;
}

/* The pixels between nearest and farthest; in the sample, only the person's; after a click, only those on the same
   surface as the clicked pixel. */
function personMask(frame) {
  const { rows, cols, values } = frame, mask = new Uint8Array(values.length);
  const near = Number(byId("near").value) || 0, far = Number(byId("far").value) || 65535;
  for (let i = 0; i < values.length; i++) mask[i] = values[i] && values[i] >= near && values[i] <= far ? 1 : 0;
  if (page.seed === null) return frame.person ? mask.map((is, i) => (is && frame.person[i] ? 1 : 0)) : mask;
  if (!mask[page.seed]) return mask;
  const reached = new Uint8Array(values.length), stack = [page.seed];
  reached[page.seed] = 1;
  while (stack.length) {
    const at = stack.pop(), col = at % cols;
    for (const next of [col ? at - 1 : -1, col < cols - 1 ? at + 1 : -1, at - cols, at + cols]) {
      if (next < 0 || next >= rows * cols || reached[next] || !mask[next]) continue;
      if (Math.abs(values[next] - values[at]) > NEAR_MM) continue;
      reached[next] = 1;
      stack.push(next);
    }
  }
  return reached;
}

function label(frame) {
  const { rows, cols, values } = frame, forest = page.forest;
  const focal = Number(byId("focal").value) || frame.focal || FOCAL_SHARE * cols;
  let code = forest.forest_room(rows, cols);
  if (code) throw new Error(`no room for a picture of ${cols} x ${rows} (code ${code})`);
  const memory = forest.memory.buffer, n = rows * cols;
  new Uint16Array(memory, forest.forest_depth(), n).set(values);
  new Uint8Array(memory, forest.forest_mask(), n).set(personMask(frame));
  const camera = { fx: focal, fy: focal, cx: (cols - 1) / 2, cy: (rows - 1) / 2 }, begin = performance.now();
  code = forest.forest_run(camera.fx, camera.fy, camera.cx, camera.cy, 1);
  const took = performance.now() - begin;
  if (code < 0) throw new Error(`labeling failed with code ${code}`);
  const found = new Float64Array(memory, forest.forest_joints(), 5 * model.joints.length), joints = {};
  model.joints.forEach((name, i) => {
    if (found[5 * i]) joints[name] = { position: Array.from(found.slice(5 * i + 1, 5 * i + 4)), confidence: found[5 * i + 4] };
  });
  const parts = new Uint8Array(memory, forest.forest_parts(), n).slice();
  const confidence = new Float32Array(memory, forest.forest_confidence(), n).slice();
  return { code, camera, took, parts, confidence, joints, pixels: parts.reduce((sum, part) => sum + (part !== NO_PART), 0) };
}

function draw() {
  const { frame, result } = page;
  if (!frame || !result) return;
  const canvas = byId("picture"), shown = byId("shown").value;
  canvas.width = frame.cols;
  canvas.height = frame.rows;
  const context = canvas.getContext("2d"), image = context.createImageData(frame.cols, frame.rows);
  for (let i = 0; i < frame.values.length; i++) {
    const d = frame.values[i], part = result.parts[i], gray = d ? Math.max(30, 235 - d / 22) : 0;
    let color = [gray, gray, gray];
    if (part !== NO_PART && shown === "parts") color = model.colors[part];
    if (part !== NO_PART && shown === "confidence") color = [255 * (1 - result.confidence[i]), 200 * result.confidence[i], 90];
    image.data.set(color, 4 * i);
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  drawJoints(context, result);
}

function drawJoints(context, { joints, camera }) {
  const at = ([x, y, z]) => [camera.cx + (camera.fx * x) / z, camera.cy + (camera.fy * y) / z];
  const size = Math.max(1.5, context.canvas.width / 220);
  context.strokeStyle = context.fillStyle = "white";
  context.lineWidth = size / 1.5;
  for (const [a, b] of BONES) {
    if (!joints[a] || !joints[b]) continue;
    context.beginPath();
    context.moveTo(...at(joints[a].position));
    context.lineTo(...at(joints[b].position));
    context.stroke();
  }
  for (const joint of Object.values(joints)) {
    context.beginPath();
    context.arc(...at(joint.position), size, 0, 7);
    context.fill();
  }
}

function say(text) {
  byId("said").textContent = text;
}

function again() {
  if (!page.frame || !page.forest) return;
  try {
    page.result = label(page.frame);
    const { result, frame } = page, sum = result.confidence.reduce((a, b) => a + b, 0) / Math.max(result.pixels, 1);
    say(result.code === 1 ? "Nobody there: no reading between nearest and farthest."
      : `${result.pixels} pixels of ${frame.cols} x ${frame.rows} labeled in ${result.took.toFixed(1)} ms, mean confidence ${sum.toFixed(2)}.`);
    draw();
  } catch (error) {
    say(`Cannot label: ${error.message}.`);
  }
}

async function open(file) {
  if (!file) return;
  try {
    show(await readPng(new Uint8Array(await file.arrayBuffer())));
  } catch (error) {
    say(`${file.name}: ${error.message}.`);
  }
}

function show(frame) {
  page.frame = frame;
  page.seed = null;
  again();
}

async function openSample() {
  const [frame, person] = await Promise.all([model.sample.depth, model.sample.person].map((text) => readPng(bytesOf(text))));
  show({ ...frame, person: person.values, focal: model.sample.focal });
}

function start() {
  const drop = byId("drop"), legend = byId("legend");
  document.title = `${model.title} in the browser`;
  model.names.forEach((name, i) => {
    const entry = document.createElement("li"), patch = document.createElement("span");
    patch.style.background = `rgb(${model.colors[i].join(",")})`;
    entry.append(patch, name);
    legend.append(entry);
  });
  for (const name of ["dragover", "dragenter"]) drop.addEventListener(name, (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => { e.preventDefault(); drop.classList.remove("over"); open(e.dataTransfer.files[0]); });
  byId("file").addEventListener("change", (e) => open(e.target.files[0]));
  byId("sample").addEventListener("click", openSample);
  byId("options").addEventListener("submit", (e) => e.preventDefault());
  for (const name of ["focal", "near", "far"]) byId(name).addEventListener("input", again);
  byId("shown").addEventListener("change", draw);
  byId("picture").addEventListener("click", (e) => {
    if (!page.frame) return;
    const box = e.target.getBoundingClientRect();
    const col = Math.floor(((e.clientX - box.left) / box.width) * page.frame.cols);
    const row = Math.floor(((e.clientY - box.top) / box.height) * page.frame.rows);
    page.seed = row * page.frame.cols + col;
    again();
  });
  loadForest().then(() => { say("No picture yet."); again(); document.body.dataset.ready = "1"; },
    (error) => say(`This browser cannot run the forest: ${error.message}.`));
}

start();
