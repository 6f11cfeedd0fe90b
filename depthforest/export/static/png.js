"use strict";
/* Reads 16-bit and 8-bit grayscale PNG pictures: browsers show them with 8 bits only. */

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function unfilter(data, rows, stride, step) {
  const out = new Uint8Array(rows * stride);
  for (let row = 0; row < rows; row++) {
    const kind = data[row * (stride + 1)], from = row * (stride + 1) + 1, to = row * stride;
    if (kind > 4) throw new Error("the picture is damaged");
    for (let i = 0; i < stride; i++) {
      const left = i >= step ? out[to + i - step] : 0, up = row ? out[to + i - stride] : 0;
      const corner = row && i >= step ? out[to + i - stride - step] : 0;
      let guess = 0;
      if (kind === 1) guess = left;
      else if (kind === 2) guess = up;
      else if (kind === 3) guess = (left + up) >> 1;
      else if (kind === 4) {
        const p = left + up - corner, a = Math.abs(p - left), b = Math.abs(p - up), c = Math.abs(p - corner);
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      out[to + i] = data[from + i] + guess;
    }
  }
  return out;
}

/* {rows, cols, values: Uint16Array} of a PNG file. */
async function readPng(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const signature = [137, 80, 78, 71, 13, 10, 26, 10];
  if (bytes.length < 33 || signature.some((value, i) => bytes[i] !== value)) throw new Error("this is not a PNG picture");
  let cols = 0, rows = 0, depth = 0;
  const pieces = [];
  for (let at = 8; at + 12 <= bytes.length; ) {
    const length = view.getUint32(at), name = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const body = bytes.subarray(at + 8, at + 8 + length);
    if (body.length < length) throw new Error("the picture is cut off");
    if (name === "IHDR") {
      cols = view.getUint32(at + 8);
      rows = view.getUint32(at + 12);
      depth = body[8];
      if (body[9] !== 0 || (depth !== 16 && depth !== 8) || body[12] !== 0)
        throw new Error("expected grayscale with 16 bits, not interlaced");
    } else if (name === "IDAT") pieces.push(body);
    at += 12 + length;
  }
  if (!rows || !cols || rows * cols > 4 << 20) throw new Error(`pictures of up to 4 million pixels, got ${cols} x ${rows}`);
  const packed = new Uint8Array(await new Blob(pieces).arrayBuffer());
  const step = depth / 8, data = await inflate(packed);
  if (data.length < rows * (cols * step + 1)) throw new Error("the picture is cut off");
  const raw = unfilter(data, rows, cols * step, step), values = new Uint16Array(rows * cols);
  for (let i = 0; i < values.length; i++) values[i] = step === 2 ? (raw[2 * i] << 8) | raw[2 * i + 1] : raw[i];
  return { rows, cols, values };
}
