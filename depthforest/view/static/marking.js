// Marking by hand: the tab, and clicks on panes while it is open and marking is on.

import { $, made, saveAs, say } from "./dom.js";
import { app, redraw } from "./link.js";
import { Marks } from "./marks.js";

export const marks = new Marks();

const who = () => Math.max(1, Math.min(20, Math.round(Number($("markwho").value)) || 1));
const what = () => $("markas").value.split(" ");

export function startMarking() {
  $("marking").onchange = () => {
    app.isMarking = $("marking").checked;
    redraw();
  };
  $("markas").onchange = showMarks;
  $("markabsent").onclick = () => {
    marks.setJoint(app.frame, who(), what()[1], null);
    showMarks();
  };
  $("marksave").onclick = () => saveAs(new Blob([marks.text()], { type: "application/json" }), "marks.json");
  $("markload").onclick = () => $("marksfile").click();
  $("marksfile").onchange = () => {
    if ($("marksfile").files[0]) loadMarks($("marksfile").files[0]);
    $("marksfile").value = "";
  };
}

export function fillKinds({ regions, joints }) {
  const group = (label, names, kind) => {
    const node = made("optgroup", undefined, { label });
    node.append(...names.map((name) => made("option", name, { value: `${kind} ${name}` })));
    return node;
  };
  $("markas").replaceChildren(group("points", regions, "point"), group("joints", joints, "joint"));
}

export function mark({ col, row }) {
  const [kind, name] = what();
  if (kind === "point") marks.addPoint(app.frame, who(), col, row, name);
  else marks.setJoint(app.frame, who(), name, [col, row, $("markseen").checked]);
  showMarks();
}

export function showMarks() {
  const { frame, state } = app, isTurned = Boolean(state?.reading.flip || state?.reading.rotate);
  const isJoint = what()[0] === "joint";
  $("markhint").textContent = isTurned
    ? "evaluate --marks reads frames as they are stored: mark without flip and rotate." : "";
  $("marksave").disabled = isTurned || marks.isEmpty();
  $("markabsent").disabled = !isJoint || !frame;
  $("markseen").disabled = !isJoint;
  $("marklist").replaceChildren(...(frame ? marks.list(frame.name) : []).map((entry) => {
    const item = made("li", entry.text), button = made("button", "\u00d7", { title: "remove this mark", ariaLabel: "remove" });
    button.onclick = () => {
      entry.remove();
      showMarks();
    };
    item.append(button);
    return item;
  }));
  redraw();
}

export async function loadMarks(file) {
  try {
    marks.load(await file.text());
  } catch (error) {
    say(`${file.name}: is not a marks file: ${error.message}`);
  }
  showMarks();
}
