// Points and joints marked by hand, in the format of `depthforest evaluate --marks`.

export class Marks {
  constructor() { this.frames = {}; }

  person(frame, number) {
    const own = this.frames[frame.name] ||= { width: frame.width, height: frame.height, people: [] };
    while (own.people.length < number) own.people.push({ points: [], joints: {} });
    return own.people[number - 1];
  }

  addPoint(frame, number, col, row, region) { this.person(frame, number).points.push([col, row, region]); }

  setJoint(frame, number, name, value) { this.person(frame, number).joints[name] = value; }

  // every mark of a frame: {text, col, row, isJoint, remove}; col is undefined for a joint that is not in the picture
  list(name) {
    const found = [];
    (this.frames[name]?.people || []).forEach(({ points = [], joints = {} }, i) => {
      const person = `Person ${i + 1}`;
      points.forEach(([col, row, region], n) => {
        const text = `${person}: ${region}, ${col} ${row}`;
        found.push({ text, col, row, isJoint: false, remove: () => points.splice(n, 1) });
      });
      for (const [joint, value] of Object.entries(joints)) {
        const [col, row, isSeen] = value || [];
        const text = `${person}: joint ${joint}, ${value ? `${col} ${row}${isSeen ? "" : ", hidden"}` : "not in the picture"}`;
        found.push({ text, col, row, isJoint: true, remove: () => delete joints[joint] });
      }
    });
    return found;
  }

  // frames without a mark are left out, and people without one
  kept() {
    const isMarked = ({ points = [], joints = {} }) => points.length > 0 || Object.keys(joints).length > 0;
    const entries = Object.entries(this.frames).map(([name, entry]) => [name, { ...entry, people: entry.people.filter(isMarked) }]);
    return Object.fromEntries(entries.filter(([, { people }]) => people.length));
  }

  isEmpty() { return Object.keys(this.kept()).length === 0; }

  text() { return `${JSON.stringify(this.kept(), null, 1)}\n`; }

  load(text) {
    const content = JSON.parse(text);
    if (typeof content !== "object" || content === null) throw new Error("expected frames by their names");
    for (const [name, entry] of Object.entries(content)) {
      const isFrame = entry?.width > 0 && entry.height > 0 && Array.isArray(entry.people);
      if (!isFrame || !entry.people.every((p) => p && typeof p === "object")) {
        throw new Error(`${name}: expected width, height and people`);
      }
    }
    Object.assign(this.frames, content);
  }
}
