// Skeletons and marks, drawn over the panes.

const INK = "#111a20", PAPER = "#ffffff", MARK = "#ffe14d";

// a point in camera space on the pane of the cloud; null behind the eye
export function project(matrix, [x, y, z], box) {
  const at = (row) => matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z + matrix[12 + row];
  const w = at(3);
  return w <= 0.01 ? null : [box.x + box.w * (0.5 + 0.5 * at(0) / w), box.y + box.h * (0.5 - 0.5 * at(1) / w)];
}

// the center of a pixel of the frame on a pane that shows the picture
export function pixelSpot({ width, height }, col, row, box) {
  return [box.x + (col + 0.5) / width * box.w, box.y + (row + 0.5) / height * box.h];
}

// a point in camera space on a pane that shows the picture
export function toPicture(frame, [x, y, z], box) {
  const { fx, fy, cx, cy } = frame.camera;
  return z <= 0 ? null : pixelSpot(frame, fx * x / z + cx, fy * y / z + cy, box);
}

export function clipped(pen, box, paint) {
  pen.save();
  pen.beginPath();
  pen.rect(box.x, box.y, box.w, box.h);
  pen.clip();
  paint();
  pen.restore();
}

// joints with low confidence are drawn faintly
const visibility = (sure) => 0.25 + 0.75 * Math.min(1, 2 * sure);

export function drawSkeletons(pen, people, bones, place, scale) {
  for (const { joints } of people) {
    const spots = {};
    for (const [name, [x, y, z, sure]] of Object.entries(joints)) {
      const at = place([x, y, z]);
      if (at) spots[name] = { at, sure };
    }
    for (const [width, color] of [[4.5, INK], [2, PAPER]]) drawBones(pen, bones, spots, width * scale, color);
    for (const { at, sure } of Object.values(spots)) {
      pen.globalAlpha = visibility(sure);
      pen.beginPath();
      pen.arc(...at, 3 * scale, 0, 7);
      pen.fillStyle = PAPER;
      pen.fill();
      pen.lineWidth = 1.2 * scale;
      pen.strokeStyle = INK;
      pen.stroke();
    }
  }
  pen.globalAlpha = 1;
}

function drawBones(pen, bones, spots, width, color) {
  Object.assign(pen, { lineWidth: width, strokeStyle: color, lineCap: "round" });
  for (const [a, b] of bones) {
    if (!spots[a] || !spots[b]) continue;
    pen.globalAlpha = visibility(Math.min(spots[a].sure, spots[b].sure));
    pen.beginPath();
    pen.moveTo(...spots[a].at);
    pen.lineTo(...spots[b].at);
    pen.stroke();
  }
}

// points are squares, joints circles
export function drawMarks(pen, frame, entries, box, scale) {
  for (const { col, row, isJoint } of entries) {
    if (col === undefined) continue;
    const [x, y] = pixelSpot(frame, col, row, box);
    pen.beginPath();
    if (isJoint) pen.arc(x, y, 5 * scale, 0, 7);
    else pen.rect(x - 4 * scale, y - 4 * scale, 8 * scale, 8 * scale);
    for (const [width, color] of [[3.5, INK], [1.8, MARK]]) {
      Object.assign(pen, { lineWidth: width * scale, strokeStyle: color });
      pen.stroke();
    }
  }
}
