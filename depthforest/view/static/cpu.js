// Draws frames without a GPU, with the same colors at the same pixels as gpu.js. Only visible pixels are computed; light
// and distance are computed once per frame for all panes, and colors are looked up in tables.

import { MODES, WIDEST } from "./gpu.js";

const NONE = 255; // a pixel that is nobody
const LEVELS = 64; // levels of distance in the tables of grays; light has 256 levels
const EMPTY = LEVELS << 8; // the shade of a pixel without a reading
const LAMP = [-0.35, -0.5, -1].map((v) => v / Math.hypot(0.35, 0.5, 1));
const STEP_MM = 120; // a neighbor that is farther away belongs to another surface
const FEW_POINTS = 200e3, FEW_PIXELS = 160e3; // of the cloud and its pane while frames are playing
const MOST_KEPT = 4; // sizes of pictures whose sampled pixels are kept: those of the panes, and whole frames
const NEAR_GRAY = [0.95, 0.96, 0.97], FAR_GRAY = [0.42, 0.48, 0.55], SAME = [0.35, 0.6, 0.75];
const DIFFERENT = [0.93, 0.23, 0.27];

const byte = (v) => Math.round(255 * Math.max(0, Math.min(1, v)));
const packed = ([r, g, b]) => ((255 << 24) | (byte(b) << 16) | (byte(g) << 8) | byte(r)) >>> 0;
const mixed = (a, b, share) => a.map((v, i) => v + share * (b[i] - v));

// dark blue, green, yellow
const HEAT = Uint32Array.from({ length: 256 }, (_, i) => {
  const t = i / 255;
  return packed([-0.1 + 1.1 * t * t + 0.25 * t, 0.05 + 0.95 * t, 0.42 + 0.5 * t - 0.85 * t * t]);
});

// the gray of a shade, from 0 to 1: near is light
function gray(shade) {
  const t = (shade >> 8) / (LEVELS - 1), lit = (shade & 255) / 255, k = 0.22 + 0.82 * lit * lit;
  return mixed(NEAR_GRAY, FAR_GRAY, t).map((v) => v * k);
}

// a table of what `tint` makes of each gray
function grays(tint) {
  const table = new Uint32Array(EMPTY + 1);
  for (let shade = 0; shade < EMPTY; shade++) table[shade] = packed(tint(gray(shade)));
  return table;
}

const darker = (color) => color.map((v) => 0.72 * v);

export class CpuPainter {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d", { alpha: false });
    this.spare = document.createElement("canvas");
    this.isCoarse = false; // whether the cloud was drawn with fewer points
    this.grays = grays((color) => color);
    this.dark = grays(darker);
    this.faint = grays((color) => darker(color).map((v) => 0.88 * v));
    this.same = grays((color) => mixed(color, SAME, 0.35));
    this.palettes = {};
    this.images = {};
    this.sampled = new Map();
    this.shades = {};
    this.version = 0;
  }

  // colors by part and light; parts that are not selected are gray with some of their color
  setColors(name, colors, chosen) {
    const lit = new Uint32Array(256 * 256), added = new Uint32Array(256);
    colors.forEach((color, part) => {
      const share = color.map((v) => v / 255);
      for (let light = 0; light < 256; light++) lit[part << 8 | light] = packed(share.map((v) => v * (0.6 + 0.4 * light / 255)));
      if (chosen.size && !chosen.has(part)) added[part] = packed(share.map((v) => 0.12 * v)) & 0xffffff;
    });
    this.palettes[name] = { lit, added, isShown: Uint8Array.from(added, (_, part) => !chosen.size || chosen.has(part)) };
    this.version++;
  }

  setFrame(frame) {
    this.frame = frame;
    this.shades = {};
    this.version++;
  }

  begin(empty) {
    const color = packed(empty), { canvas, pen } = this;
    if (this.empty !== color) {
      this.empty = color;
      for (const table of [this.grays, this.dark, this.faint, this.same]) table[EMPTY] = color;
      this.version++;
    }
    pen.fillStyle = `rgb(${empty.map(byte).join(",")})`;
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }

  // box: {x, y, w, h} in whole pixels of the canvas, from its top left corner
  drawFlat(box, pane) {
    const { frame } = this, w = Math.min(box.w, frame.width), h = Math.min(box.h, frame.height);
    if (w < 1 || h < 1) return;
    const image = this.image(pane, w, h), key = `${this.version} ${w} ${h}`;
    if (image.key !== key) {
      this.fill(image.pixels, MODES[pane], this.shade(w, h));
      image.key = key;
    }
    this.put(image, box);
  }

  image(pane, w, h) {
    const old = this.images[pane];
    if (old?.data.width === w && old.data.height === h) return old;
    const data = new ImageData(w, h);
    return (this.images[pane] = { data, pixels: new Uint32Array(data.data.buffer), key: "" });
  }

  put({ data }, { x, y, w, h }) {
    if (data.width === w && data.height === h) {
      this.pen.putImageData(data, x, y);
      return;
    }
    const { spare } = this;
    if (spare.width !== data.width || spare.height !== data.height) Object.assign(spare, { width: data.width, height: data.height });
    spare.getContext("2d", { alpha: false }).putImageData(data, 0, 0);
    this.pen.imageSmoothingEnabled = false;
    this.pen.drawImage(spare, x, y, w, h);
  }

  fill(pixels, mode, { at, shades }) {
    const { grays: light, dark, same, frame, palettes } = this, { parts, sure, parts2 = parts } = frame;
    const n = pixels.length, different = packed(DIFFERENT);
    if (mode === MODES.depth) for (let i = 0; i < n; i++) pixels[i] = light[shades[i]];
    else if (mode === MODES.parts) paintParts(pixels, at, shades, parts, palettes.palette, this);
    else if (mode === MODES.other) paintParts(pixels, at, shades, parts2, palettes.palette2, this);
    else if (mode === MODES.confidence) {
      for (let i = 0; i < n; i++) {
        const shade = shades[i], p = at[i];
        pixels[i] = parts[p] === NONE || shade === EMPTY ? dark[shade] : HEAT[sure[p]];
      }
    } else {
      for (let i = 0; i < n; i++) {
        const shade = shades[i], part = parts[at[i]], other = parts2[at[i]];
        if (part !== other && shade !== EMPTY) pixels[i] = different;
        else pixels[i] = part === NONE ? dark[shade] : same[shade];
      }
    }
  }

  // light and distance of the pixels in a picture of w x h, computed once per frame
  shade(w, h) {
    return (this.shades[`${w} ${h}`] ??= shadeOf(this.frame, this.places(w, h)));
  }

  // the shade that another pane has computed already; otherwise one with as many pixels as the box
  anyShade({ w, h }) {
    const { width, height } = this.frame, fit = Math.min(1, w / width, h / height);
    const [known] = Object.values(this.shades);
    return known ?? this.shade(...[width, height].map((v) => Math.max(1, Math.round(v * fit))));
  }

  // the frame's pixels in a picture of w x h, and their neighbors
  places(w, h) {
    const { width, height } = this.frame, shape = `${w} ${h} ${width} ${height}`;
    if (this.sampled.has(shape)) return this.sampled.get(shape);
    const cols = Int32Array.from({ length: w }, (_, i) => Math.floor((i + 0.5) / w * width));
    const rows = Int32Array.from({ length: h }, (_, i) => Math.floor((i + 0.5) / h * height));
    const at = new Int32Array(w * h);
    for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) at[y * w + x] = rows[y] * width + cols[x];
    const beside = (values, most) => [-3, -2, 2, 3].map((by) => values.map((v) => Math.max(0, Math.min(most - 1, v + by))));
    const across = beside(cols, width), along = beside(rows, height).map((values) => values.map((v) => v * width));
    if (this.sampled.size >= MOST_KEPT) this.sampled.clear(); // the size of the window or of the frames has changed
    this.sampled.set(shape, { cols, rows, at, across, along });
    return this.sampled.get(shape);
  }

  // while frames are playing, with fewer points and pixels; at rest, with all
  drawCloud(box, view, zoom, isPeopleOnly, isAtRest) {
    const { frame } = this, { width, height } = frame;
    this.isCoarse = !isAtRest;
    const less = isAtRest ? 1 : Math.min(1, Math.sqrt(FEW_PIXELS / (box.w * box.h)));
    const [w, h] = [box.w, box.h].map((v) => Math.max(1, Math.round(v * less)));
    const grid = isAtRest ? this.shade(width, height) : this.anyShade(box);
    const image = this.image("cloud", w, h), { pixels } = image;
    if (this.far?.length !== pixels.length) this.far = new Float32Array(pixels.length);
    pixels.fill(this.empty);
    this.far.fill(Infinity);
    const scene = { frame, w, h, view, pixels, far: this.far, tables: this, ...grid };
    const stride = isAtRest ? 1 : Math.ceil(Math.sqrt(grid.at.length / FEW_POINTS));
    // as wide as the point's pixels in the frame are at their distance
    const size = 1.05 * zoom * h / frame.camera.fy * width / grid.cols.length;
    scatter(scene, true, stride, size);
    if (!isPeopleOnly) scatter(scene, false, isAtRest ? 1 : 3 * stride, size);
    this.put(image, box);
  }
}

function paintParts(pixels, at, shades, parts, { lit, added, isShown }, { dark, faint }) {
  for (let i = 0; i < pixels.length; i++) {
    const shade = shades[i], part = parts[at[i]];
    if (part === NONE || shade === EMPTY) pixels[i] = dark[shade];
    else pixels[i] = isShown[part] ? lit[part << 8 | shade & 255] : faint[shade] + added[part];
  }
}

// slopes from eight neighbors two or three pixels away, because readings are coarse, and coarser far away
function shadeOf({ depth, width, camera, range }, places) {
  const { cols, rows, at, across, along } = places, [left3, left2, right2, right3] = across, [lx, ly, lz] = LAMP;
  const shades = new Uint16Array(at.length), n = cols.length, { fx, fy } = camera;
  const per = (LEVELS - 1) / Math.max(1000 * (range[1] - range[0]), 100), near = 1000 * range[0];
  for (let y = 0, i = 0; y < rows.length; y++) {
    const row = rows[y] * width, [up3, up2, down2, down3] = along.map((values) => values[y]);
    for (let x = 0; x < n; x++, i++) {
      const col = cols[x], mm = depth[row + col];
      if (mm === 0) {
        shades[i] = EMPTY;
        continue;
      }
      const l2 = left2[x], r2 = right2[x];
      const a = step(depth[up2 + l2], mm), b = step(depth[up2 + r2], mm);
      const c = step(depth[down2 + l2], mm), d = step(depth[down2 + r2], mm);
      const sx = b + d - a - c + step(depth[row + right3[x]], mm) - step(depth[row + left3[x]], mm);
      const sy = c + d - a - b + step(depth[down3 + col], mm) - step(depth[up3 + col], mm);
      const k = 1 / (14 * mm * (1 + 1e-7 * mm * mm)), gx = sx * k * fx, gy = sy * k * fy;
      const lit = (gx * lx + gy * ly - lz) / Math.sqrt(gx * gx + gy * gy + 1), t = (mm - near) * per + 0.5;
      const level = t <= 0 ? 0 : t >= LEVELS ? LEVELS - 1 : t | 0;
      shades[i] = level << 8 | (lit <= 0 ? 0 : lit >= 1 ? 255 : 255 * lit + 0.5 | 0);
    }
  }
  return { shades, cols, rows, at };
}

function step(mm, from) {
  const by = mm - from;
  return mm !== 0 && by < STEP_MM && by > -STEP_MM ? by : 0;
}

// squares of people, or of everything else, nearest first; every `stride`-th row and column of the grid
function scatter(scene, isPeople, stride, size) {
  const { frame, w, h, view: m, far, pixels, shades, cols, rows } = scene, { depth, parts, camera } = frame;
  const n = cols.length, { dark, faint } = scene.tables, { lit, added, isShown } = scene.tables.palettes.palette;
  for (let y = 0; y < rows.length; y += stride) {
    const down = (rows[y] - camera.cy) / camera.fy, row = rows[y] * frame.width;
    const [ax, ay, aw] = [m[4] * down + m[8], m[5] * down + m[9], m[7] * down + m[11]];
    for (let x = 0; x < n; x += stride) {
      const p = row + cols[x], mm = depth[p], part = parts[p];
      if (mm === 0 || (part !== NONE) !== isPeople) continue;
      const z = mm / 1000, over = (cols[x] - camera.cx) / camera.fx;
      const depthOf = (m[3] * over + aw) * z + m[15];
      if (depthOf <= 0.05) continue;
      const left = w * (0.5 + 0.5 * ((m[0] * over + ax) * z + m[12]) / depthOf);
      const top = h * (0.5 - 0.5 * ((m[1] * over + ay) * z + m[13]) / depthOf);
      const wide = Math.max(1, Math.min(WIDEST, stride * size * z / depthOf));
      const x0 = Math.max(0, Math.round(left - wide / 2)), x1 = Math.min(w, Math.round(left + wide / 2));
      const y0 = Math.max(0, Math.round(top - wide / 2)), y1 = Math.min(h, Math.round(top + wide / 2));
      if (x0 >= x1 || y0 >= y1) continue;
      const shade = shades[y * n + x];
      const color = part === NONE ? dark[shade] : isShown[part] ? lit[part << 8 | shade & 255] : faint[shade] + added[part];
      for (let py = y0; py < y1; py++) {
        for (let at = py * w + x0, end = py * w + x1; at < end; at++) {
          if (depthOf < far[at]) {
            far[at] = depthOf;
            pixels[at] = color;
          }
        }
      }
    }
  }
}
