// Elbow and knee angles of the first person, over the frames that were shown.

import { made } from "./dom.js";

// name, the joint in the middle, its neighbors, color
const ANGLES = [
  ["left elbow", "elbow_l", "shoulder_l", "wrist_l", "#d1495b"],
  ["right elbow", "elbow_r", "shoulder_r", "wrist_r", "#d98a1f"],
  ["left knee", "knee_l", "hip_l", "ankle_l", "#3b82c4"],
  ["right knee", "knee_r", "hip_r", "ankle_r", "#2f9e77"],
];
const KEPT = 300, LEAST = 60, LEFT = 30, MARGIN = 7;

function angle(joints, [, middle, a, b]) {
  if (!joints[middle] || !joints[a] || !joints[b]) return null;
  const from = (name) => [0, 1, 2].map((i) => joints[name][i] - joints[middle][i]);
  const u = from(a), v = from(b), dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  const cosine = dot / (Math.hypot(...u) * Math.hypot(...v) || 1);
  return Math.acos(Math.max(-1, Math.min(1, cosine))) * 180 / Math.PI;
}

export class AnglePlot {
  constructor(canvas, key) {
    this.canvas = canvas;
    this.history = [];
    this.values = ANGLES.map(([name, , , , color]) => {
      const item = made("span"), line = made("i"), value = made("b");
      line.style.background = color;
      item.append(line, `${name} `, value);
      key.append(item);
      return value;
    });
  }

  clear() { this.history = []; }

  add(people) {
    this.history.push(ANGLES.map((way) => (people[0] ? angle(people[0].joints, way) : null)));
    if (this.history.length > KEPT) this.history.shift();
  }

  draw() {
    const { canvas, history } = this, ratio = devicePixelRatio || 1, pen = canvas.getContext("2d");
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width) return; // its tab is closed
    const size = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== size[0] || canvas.height !== size[1]) [canvas.width, canvas.height] = size;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const up = (degrees) => height - MARGIN - (height - 2 * MARGIN) * degrees / 180;
    this.drawGrid(pen, width, up);
    const step = (width - LEFT - 4) / Math.max(LEAST, history.length - 1);
    ANGLES.forEach(([, , , , color], i) => {
      Object.assign(pen, { strokeStyle: color, fillStyle: color, lineWidth: 1.6, lineJoin: "round" });
      pen.beginPath();
      let isDown = false;
      history.forEach((values, n) => {
        if (values[i] !== null) pen[isDown ? "lineTo" : "moveTo"](LEFT + n * step, up(values[i]));
        isDown = values[i] !== null;
      });
      pen.stroke();
      const last = history.at(-1)?.[i] ?? null;
      if (last !== null) pen.fillRect(LEFT + (history.length - 1) * step - 2, up(last) - 2, 4, 4);
      this.values[i].textContent = last === null ? "\u2013" : `${Math.round(last)}\u00b0`;
    });
  }

  drawGrid(pen, width, up) {
    const ink = getComputedStyle(document.body).color;
    Object.assign(pen, { font: "10px system-ui, sans-serif", fillStyle: ink, strokeStyle: ink, lineWidth: 1 });
    for (const degrees of [0, 90, 180]) {
      const y = Math.round(up(degrees)) + 0.5;
      pen.globalAlpha = 0.2;
      pen.beginPath();
      pen.moveTo(LEFT, y);
      pen.lineTo(width, y);
      pen.stroke();
      pen.globalAlpha = 0.75;
      pen.fillText(`${degrees}\u00b0`, 0, y + 3);
    }
    pen.globalAlpha = 1;
  }
}
