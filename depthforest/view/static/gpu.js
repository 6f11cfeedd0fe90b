// Draws frames on the GPU: panes of the picture, and the cloud, unprojected from uint16 depth in the vertex shader.
// Light is computed once per frame, into a texture that all panes share.

export const MODES = { depth: 0, parts: 1, confidence: 2, other: 3, difference: 4 };
export const WIDEST = 24; // pixels of a point of the cloud

const HEAD = `#version 300 es
precision highp float; precision highp int; precision highp usampler2D;
uniform usampler2D depth, parts, sure, parts2;
uniform sampler2D palette, palette2, light;
uniform vec4 lens; // fx, fy, cx, cy
uniform vec2 range; // meters, near and far
uniform vec3 empty;
uniform int mode;
`;

const LIGHT_VERTEX = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0, 0.0, 1.0); }`;

// slopes from eight neighbors two or three pixels away, because readings are coarse, and coarser far away
const LIGHT_FRAGMENT = HEAD + `
out vec4 color;
float z0;
float step_to(int x, int y) {
  ivec2 p = clamp(ivec2(gl_FragCoord.xy) + ivec2(x, y), ivec2(0), textureSize(depth, 0) - 1);
  float z = float(texelFetch(depth, p, 0).r) / 1000.0;
  return z > 0.0 && abs(z - z0) < 0.12 ? z - z0 : 0.0;
}
void main() {
  z0 = float(texelFetch(depth, ivec2(gl_FragCoord.xy), 0).r) / 1000.0;
  if (z0 == 0.0) { color = vec4(0.0); return; }
  float a = step_to(-2, -2), b = step_to(2, -2), c = step_to(-2, 2), d = step_to(2, 2);
  vec2 slope = vec2(b + d + step_to(3, 0) - a - c - step_to(-3, 0), c + d + step_to(0, 3) - a - b - step_to(0, -3)) / 14.0;
  slope *= lens.xy / z0 / (1.0 + 0.1 * z0 * z0);
  vec3 normal = normalize(vec3(slope, -1.0));
  color = vec4(clamp(dot(normal, normalize(vec3(-0.35, -0.5, -1.0))), 0.0, 1.0), 0.0, 0.0, 1.0);
}`;

const PAINT = `
vec3 heat(float t) { // dark blue, green, yellow
  return clamp(vec3(-0.1 + 1.1 * t * t + 0.25 * t, 0.05 + 0.95 * t, 0.42 + 0.5 * t - 0.85 * t * t), 0.0, 1.0);
}
vec3 gray(float z, float lit) {
  float t = clamp((z - range.x) / max(range.y - range.x, 0.1), 0.0, 1.0);
  return (0.22 + 0.82 * lit * lit) * mix(vec3(0.95, 0.96, 0.97), vec3(0.42, 0.48, 0.55), t);
}
vec3 painted(uint part, sampler2D colors, float z, float lit) {
  if (part == 255u) return gray(z, lit) * 0.72;
  vec4 color = texelFetch(colors, ivec2(int(part), 0), 0);
  return color.a > 0.5 ? color.rgb * (0.6 + 0.4 * lit) : mix(gray(z, lit) * 0.72, color.rgb, 0.12);
}`;

const FLAT_VERTEX = `#version 300 es
out vec2 spot;
void main() {
  vec2 p = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  spot = vec2(p.x, 1.0 - p.y);
  gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
}`;

const FLAT_FRAGMENT = HEAD + PAINT + `
in vec2 spot;
out vec4 color;
void main() {
  ivec2 size = textureSize(depth, 0), p = min(ivec2(spot * vec2(size)), size - 1);
  uint mm = texelFetch(depth, p, 0).r;
  if (mm == 0u) { color = vec4(empty, 1.0); return; }
  float z = float(mm) / 1000.0, lit = texelFetch(light, p, 0).r;
  uint part = texelFetch(parts, p, 0).r, other = texelFetch(parts2, p, 0).r;
  vec3 c;
  if (mode == 0) c = gray(z, lit);
  else if (mode == 1) c = painted(part, palette, z, lit);
  else if (mode == 2) c = part == 255u ? gray(z, lit) * 0.72 : heat(float(texelFetch(sure, p, 0).r) / 255.0);
  else if (mode == 3) c = painted(other, palette2, z, lit);
  else if (part == other) c = part == 255u ? gray(z, lit) * 0.72 : mix(gray(z, lit), vec3(0.35, 0.6, 0.75), 0.35);
  else c = vec3(0.93, 0.23, 0.27);
  color = vec4(c, 1.0);
}`;

const CLOUD_VERTEX = HEAD + PAINT + `
uniform mat4 view;
uniform float size;
uniform int peopleOnly;
out vec3 tint;
void main() {
  int cols = textureSize(depth, 0).x;
  ivec2 p = ivec2(gl_VertexID % cols, gl_VertexID / cols);
  uint mm = texelFetch(depth, p, 0).r, part = texelFetch(parts, p, 0).r;
  if (mm == 0u || (peopleOnly == 1 && part == 255u)) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); gl_PointSize = 0.0; return; }
  float z = float(mm) / 1000.0;
  tint = painted(part, palette, z, texelFetch(light, p, 0).r);
  gl_Position = view * vec4((vec2(p) - lens.zw) / lens.xy * z, z, 1.0);
  gl_PointSize = clamp(size * z / gl_Position.w, 1.0, float(${WIDEST}));
}`;

const CLOUD_FRAGMENT = `#version 300 es
precision highp float;
in vec3 tint;
out vec4 color;
void main() { color = vec4(tint, 1.0); }`;

export class GpuPainter {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, alpha: false });
    if (!gl) throw new Error("This browser has no WebGL2; open the page without draw=gpu.");
    Object.assign(this, { gl, canvas, textures: {} });
    this.lighting = this.program(LIGHT_VERTEX, LIGHT_FRAGMENT);
    this.flat = this.program(FLAT_VERTEX, FLAT_FRAGMENT);
    this.cloud = this.program(CLOUD_VERTEX, CLOUD_FRAGMENT);
    ["depth", "parts", "sure", "parts2", "palette", "palette2", "light"].forEach((name, unit) => {
      this.textures[name] = { unit, texture: this.texture(unit), shape: "" };
    });
    this.buffer = gl.createFramebuffer();
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.bindVertexArray(gl.createVertexArray());
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram(), places = {};
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      const isMade = gl.getShaderParameter(shader, gl.COMPILE_STATUS) || gl.isContextLost();
      if (!isMade) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    for (let i = 0; i < gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS); i++) {
      const { name } = gl.getActiveUniform(made, i);
      places[name] = gl.getUniformLocation(made, name);
    }
    return { made, places };
  }

  texture(unit) {
    const gl = this.gl, texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.NEAREST);
    for (const key of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, key, gl.CLAMP_TO_EDGE);
    return texture;
  }

  fill(name, inner, width, height, format, type, values) {
    const gl = this.gl, entry = this.textures[name], shape = `${width}x${height}`;
    gl.activeTexture(gl.TEXTURE0 + entry.unit);
    if (entry.shape === shape) gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, width, height, format, type, values);
    else gl.texImage2D(gl.TEXTURE_2D, 0, inner, width, height, 0, format, type, values);
    entry.shape = shape;
  }

  // colors of parts; the fourth number says whether a part is selected or dimmed
  setColors(name, colors, chosen) {
    const gl = this.gl, bytes = new Uint8Array(1024);
    colors.forEach(([r, g, b], i) => bytes.set([r, g, b, chosen.size && !chosen.has(i) ? 0 : 255], 4 * i));
    this.fill(name, gl.RGBA8, 256, 1, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  }

  setFrame(frame) {
    const gl = this.gl, { width, height } = frame;
    const bytes = [gl.R8UI, width, height, gl.RED_INTEGER, gl.UNSIGNED_BYTE];
    this.frame = frame;
    this.fill("depth", gl.R16UI, width, height, gl.RED_INTEGER, gl.UNSIGNED_SHORT, frame.depth);
    this.fill("parts", ...bytes, frame.parts);
    this.fill("sure", ...bytes, frame.sure);
    this.fill("parts2", ...bytes, frame.parts2 || frame.parts);
    this.shine(width, height);
  }

  shine(width, height) {
    const gl = this.gl, { light } = this.textures;
    if (light.shape !== `${width}x${height}`) this.fill("light", gl.R8, width, height, gl.RED, gl.UNSIGNED_BYTE, null);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.buffer);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, light.texture, 0);
    gl.disable(gl.SCISSOR_TEST);
    gl.disable(gl.DEPTH_TEST);
    gl.viewport(0, 0, width, height);
    this.use(this.lighting, 0);
    gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  }

  begin(empty) {
    const gl = this.gl;
    this.empty = empty;
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(...empty, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
  }

  use({ made, places }, mode) {
    const gl = this.gl, { camera, range } = this.frame;
    gl.useProgram(made);
    for (const [name, { unit }] of Object.entries(this.textures)) if (places[name]) gl.uniform1i(places[name], unit);
    gl.uniform4f(places.lens, camera.fx, camera.fy, camera.cx, camera.cy);
    if (places.range) gl.uniform2f(places.range, ...range);
    if (places.empty) gl.uniform3f(places.empty, ...this.empty);
    if (places.mode) gl.uniform1i(places.mode, mode);
    return places;
  }

  // box: {x, y, w, h} in whole pixels of the canvas, from its top left corner
  area({ x, y, w, h }) {
    const rect = [x, this.canvas.height - y - h, w, h];
    this.gl.viewport(...rect);
    this.gl.scissor(...rect);
  }

  drawFlat(box, pane) {
    this.area(box);
    this.gl.disable(this.gl.DEPTH_TEST);
    this.use(this.flat, MODES[pane]);
    this.gl.drawArrays(this.gl.TRIANGLE_STRIP, 0, 4);
  }

  drawCloud(box, view, zoom, isPeopleOnly) {
    const gl = this.gl, { width, height, camera } = this.frame;
    this.area(box);
    gl.enable(gl.DEPTH_TEST);
    const places = this.use(this.cloud, 1);
    gl.uniformMatrix4fv(places.view, false, view);
    gl.uniform1i(places.peopleOnly, isPeopleOnly ? 1 : 0);
    // as wide as its pixel in the frame is at its distance
    gl.uniform1f(places.size, 1.05 * zoom * box.h / camera.fy);
    gl.drawArrays(gl.POINTS, 0, width * height);
  }
}

// whether there is a GPU: some browsers offer WebGL2 without one and emulate it slowly on the CPU
export function hasGpu() {
  const gl = document.createElement("canvas").getContext("webgl2", { failIfMajorPerformanceCaveat: true });
  if (!gl) return false;
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return !/swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}
