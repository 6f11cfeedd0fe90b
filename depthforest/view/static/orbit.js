// The viewpoint of the cloud: an orbit around a target, in camera space (x right, y down, z forward, meters).

// the middle of the readings of people, or of all; null where there are too few
function center({ depth, parts, width, camera }, isOfPeople) {
  const sum = [0, 0, 0];
  let n = 0;
  for (let i = 0; i < depth.length; i += 13) {
    if (!depth[i] || (isOfPeople && parts[i] === 255)) continue;
    const z = depth[i] / 1000;
    sum[0] += ((i % width) - camera.cx) / camera.fx * z;
    sum[1] += (Math.floor(i / width) - camera.cy) / camera.fy * z;
    sum[2] += z;
    n += 1;
  }
  return n < 20 ? null : sum.map((v) => v / n);
}

export class Orbit {
  constructor() {
    this.zoom = 1.6;
    this.reset();
  }

  reset() {
    Object.assign(this, { yaw: 0.45, pitch: 0.16, distance: 3, target: [0, 0, 2.5], isPlaced: false, isHeld: false });
  }

  // set the view for the first frame, and again when people leave it, unless the user has turned it
  follow(frame) {
    if (!this.isPlaced) this.place(frame);
    else if (!this.isHeld) {
      const at = center(frame, true), far = at && Math.hypot(...at.map((v, i) => v - this.target[i]));
      if (far > 0.4 * this.distance) this.place(frame);
    }
  }

  // look at the people of a frame, or at everything if there are none
  place(frame) {
    const at = center(frame, true) ?? center(frame, false);
    if (!at) return;
    this.target = at;
    this.distance = Math.max(1.2, Math.min(6, at[2]));
    this.isPlaced = true;
  }

  turn(dx, dy) {
    this.isHeld = true;
    this.yaw += dx * 0.008;
    this.pitch = Math.max(-1.5, Math.min(1.5, this.pitch + dy * 0.008));
  }

  approach(factor) {
    this.isHeld = true;
    this.distance = Math.max(0.2, Math.min(30, this.distance * factor));
  }

  pan(dx, dy) {
    this.isHeld = true;
    const { right, down } = this.axes(), k = this.distance * 0.0016;
    this.target = this.target.map((v, i) => v - k * (dx * right[i] + dy * down[i]));
  }

  axes() {
    const [sy, cy, sp, cp] = [Math.sin(this.yaw), Math.cos(this.yaw), Math.sin(this.pitch), Math.cos(this.pitch)];
    return { right: [cy, 0, sy], down: [sp * sy, cp, -sp * cy], ahead: [-cp * sy, sp, cp * cy] };
  }

  // camera space to clip space, column by column
  matrix(aspect) {
    const { right, down, ahead } = this.axes(), near = 0.05, far = 60, f = this.zoom;
    const eye = this.target.map((v, i) => v - this.distance * ahead[i]);
    const row = (axis, k) => [...axis.map((v) => v * k), -k * axis.reduce((sum, v, i) => sum + v * eye[i], 0)];
    const deep = row(ahead, (far + near) / (far - near));
    deep[3] -= 2 * far * near / (far - near);
    const rows = [row(right, f / aspect), row(down, -f), deep, row(ahead, 1)];
    return new Float32Array([0, 1, 2, 3].flatMap((column) => rows.map((r) => r[column])));
  }
}
