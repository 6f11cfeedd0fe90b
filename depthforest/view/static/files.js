// Files in and out: dropped and opened files, screenshots, videos of the panes, joints.

import { $, saveAs, say } from "./dom.js";
import { address, app } from "./link.js";
import { loadMarks } from "./marking.js";
import { drawPanes, layers } from "./panes.js";

const VIDEOS = ["video/webm;codecs=vp8", "video/webm", "video/mp4"]; // vp8 first: vp9 takes several times as long
let recorder = null;

export function startFiles(onUpload) {
  const take = async (file) => { if (file && await upload(file)) onUpload(); };
  $("open").onclick = () => $("file").click();
  $("file").onchange = () => {
    take($("file").files[0]);
    $("file").value = "";
  };
  $("shot").onclick = screenshot;
  $("record").onclick = toggleRecord;
  $("record").hidden = !window.MediaRecorder;
  $("joints").onclick = saveJoints;
  const show = (isShown) => { $("drop").hidden = !isShown; };
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    show(true);
  });
  document.addEventListener("dragleave", (event) => { if (!event.relatedTarget) show(false); });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    show(false);
    take(event.dataTransfer.files[0]);
  });
}

// returns whether the file was shown; a JSON file is loaded as marks
async function upload(file) {
  if (file.name.toLowerCase().endsWith(".json")) {
    await loadMarks(file);
    return false;
  }
  say("");
  try {
    const answer = await fetch(address("upload", { name: file.name }), { method: "POST", body: file });
    if (!answer.ok) say(await answer.text());
    return answer.ok;
  } catch {
    say(`${file.name}: the upload failed; the file may be too large`);
    return false;
  }
}

// the panes and their overlays; drawn again, because the GPU does not keep the picture
function paintOn(canvas) {
  const pen = canvas.getContext("2d");
  for (const layer of layers()) pen.drawImage(layer, 0, 0, canvas.width, canvas.height);
}

function composed() {
  drawPanes(true);
  const canvas = document.createElement("canvas");
  const [{ width, height }] = layers();
  Object.assign(canvas, { width, height });
  paintOn(canvas);
  return canvas;
}

export function screenshot() {
  if (app.frame) composed().toBlob((blob) => saveAs(blob, `${app.frame.name}.png`), "image/png");
}

// a frame was just drawn
export function recordFrame() { if (recorder) paintOn(recorder.canvas); }

export function toggleRecord() {
  if (recorder) {
    recorder.stop();
    recorder = null;
  } else if (app.frame) recorder = recording();
  $("record").textContent = recorder ? "Stop" : "Record";
  $("record").classList.toggle("on", Boolean(recorder));
}

// a recorder that has started; its button shows the size so far
function recording() {
  const { name } = app.frame, canvas = composed(), mimeType = VIDEOS.find((kind) => MediaRecorder.isTypeSupported(kind)), pieces = [];
  const media = new MediaRecorder(canvas.captureStream(30), { mimeType, videoBitsPerSecond: 8e6 });
  media.ondataavailable = ({ data }) => {
    if (data.size) pieces.push(data);
    if (recorder?.media === media) $("record").textContent = `Stop, ${(new Blob(pieces).size / 1e6).toFixed(1)} MB`;
  };
  media.onstop = () => {
    const video = new Blob(pieces, { type: mimeType });
    if (video.size) saveAs(video, `${name}.${mimeType.slice(6).split(";")[0]}`);
    else say("Nothing was recorded: the panes did not change.");
  };
  media.start(1000);
  return { canvas, media, stop: () => media.stop() };
}

async function saveJoints() {
  const answer = await fetch(address("joints"));
  if (answer.ok) saveAs(await answer.blob(), "joints.json");
  else say(await answer.text());
}
