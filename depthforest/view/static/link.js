// The websocket: JSON and binary frames in, small commands out. Also holds the state that all modules share.

export const app = {
  hello: null, // the server's first message: models, joints, bones, cameras
  state: null, // the open source, how it is read, whether it plays
  frame: null, // the newest frame
  chosen: new Set(), // selected parts, which are not dimmed; empty: all
  isMarking: false,
};

let socket, draw = () => {}, isAsked = false;

// the function that draws the panes after `redraw`: at most once per screen refresh
export function drawWith(drawing) { draw = drawing; }

export function redraw() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    draw();
  });
}

export function connect({ onText, onFrame, onEnd }) {
  const address = new URL("socket", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  socket = new WebSocket(address);
  socket.binaryType = "arraybuffer";
  socket.onmessage = ({ data }) => (typeof data === "string" ? onText(JSON.parse(data)) : onFrame(unpack(data)));
  socket.onclose = ({ reason }) => onEnd(reason);
}

export function ask(what, value) {
  if (socket?.readyState !== WebSocket.OPEN) return;
  socket.send(JSON.stringify(value === undefined ? { do: what } : { do: what, value }));
}

export function address(path, parameters = {}) {
  const url = new URL(path, location.href);
  url.search = new URLSearchParams({ session: app.hello.session, ...parameters });
  return url;
}

// length of a JSON text, the text, then arrays: depth, and within a box parts, confidence, and those of the second model
function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const frame = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const { width, height, box } = frame, [top, bottom, left, right] = box, n = (bottom - top) * (right - left);
  let at = 4 + length;
  frame.depth = new Uint16Array(buffer, at, width * height);
  at += frame.depth.byteLength;
  const take = (outside) => {
    const values = new Uint8Array(width * height).fill(outside), inner = new Uint8Array(buffer, at, n);
    for (let row = top, from = 0; row < bottom; row++, from += right - left) {
      values.set(inner.subarray(from, from + right - left), row * width + left);
    }
    at += n;
    return values;
  };
  Object.assign(frame, { parts: take(255), sure: take(0) });
  if (frame.compared) Object.assign(frame, { parts2: take(255), sure2: take(0) });
  frame.range = depthRange(frame.depth);
  return frame;
}

// the range, in meters, of nearly all readings
function depthRange(depth) {
  const kept = new Uint16Array(Math.ceil(depth.length / 97));
  let n = 0;
  for (let i = 0; i < depth.length; i += 97) if (depth[i]) kept[n++] = depth[i];
  if (!n) return [0, 1];
  const some = kept.subarray(0, n).sort();
  const at = (share) => some[Math.floor((some.length - 1) * share)] / 1000;
  return [at(0.02), at(0.98)];
}
