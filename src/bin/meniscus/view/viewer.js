// Plays a shot: frames are unpacked when they are shown and kept while there is room.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const canvas = $("view");
  const gl = canvas.getContext("webgl2", { antialias: true, stencil: true, preserveDrawingBuffer: true });
  const fail = (text) => { $("fault").style.display = "grid"; $("fault").textContent = text; document.body.dataset.fault = text; };
  if (!gl) { fail("This browser shows no WebGL 2, which the viewer needs."); return; }

  // ---- Small algebra: columns first, as WebGL wants it.
  const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
  const add = (a, b, s = 1) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const l = Math.hypot(...a) || 1; return a.map((c) => c / l); };
  const times = (a, b) => {
    const m = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) for (let k = 0; k < 4; k++) m[4 * c + r] += a[4 * k + r] * b[4 * c + k];
    return m;
  };
  const lookAt = (eye, target) => {
    const z = unit(sub(eye, target)), x = unit(cross([0, 1, 0], z)), y = cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
  };
  const perspective = (degrees, aspect, near, far) => {
    const f = 1 / Math.tan(degrees * Math.PI / 360);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, 2 * far * near / (near - far), 0]);
  };
  const placed = (p) => {
    if (!p) return new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    const [w, x, y, z] = p.q, s = p.s, t = p.t;
    return new Float32Array([
      s * (1 - 2 * (y * y + z * z)), s * 2 * (x * y + w * z), s * 2 * (x * z - w * y), 0,
      s * 2 * (x * y - w * z), s * (1 - 2 * (x * x + z * z)), s * 2 * (y * z + w * x), 0,
      s * 2 * (x * z + w * y), s * 2 * (y * z - w * x), s * (1 - 2 * (x * x + y * y)), 0, t[0], t[1], t[2], 1]);
  };
  const same = placed(null);

  // ---- Unpacking.
  const decode = (text) => {
    if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return bytes;
  };
  const inflate = async (bytes) => {
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const unpack = async (id) => {
    const raw = await inflate(decode($(id).textContent));
    let at = 0;
    const number = () => {
      let value = 0, scale = 1;
      for (;;) { const byte = raw[at++]; value += (byte & 127) * scale; if (byte < 128) return value; scale *= 128; }
    };
    const vertices = number(), triangles = number(), channels = number();
    const position = new Float32Array(3 * vertices), here = [0, 0, 0];
    for (let i = 0; i < vertices; i++) for (let a = 0; a < 3; a++) {
      const z = number();
      here[a] += z % 2 ? -(z + 1) / 2 : z / 2;
      position[3 * i + a] = data.low[a] + here[a] * data.step;
    }
    // Up to four numbers to colour by, side by side as a shader wants them.
    const speed = new Uint8Array(4 * vertices);
    for (let c = 0; c < Math.min(4, channels); c++) for (let i = 0; i < vertices; i++) speed[4 * i + c] = raw[at + c * vertices + i];
    at += channels * vertices;
    const index = new Uint32Array(3 * triangles);
    let seen = 0;
    for (let i = 0; i < index.length; i++) { const below = number(); index[i] = below === 0 ? seen++ : seen - below; }
    return { position, speed, index };
  };
  const faceNormal = (p, a, b, c) => {
    const u = [p[b] - p[a], p[b + 1] - p[a + 1], p[b + 2] - p[a + 2]], v = [p[c] - p[a], p[c + 1] - p[a + 1], p[c + 2] - p[a + 2]];
    return cross(u, v);
  };
  const smooth = ({ position, index }) => {
    const normal = new Float32Array(position.length);
    for (let i = 0; i < index.length; i += 3) {
      const [a, b, c] = [3 * index[i], 3 * index[i + 1], 3 * index[i + 2]], n = faceNormal(position, a, b, c);
      for (const v of [a, b, c]) { normal[v] += n[0]; normal[v + 1] += n[1]; normal[v + 2] += n[2]; }
    }
    return normal;
  };
  // Solids keep edges sharper than 40 degrees: every corner has its own normal.
  const creased = (mesh) => {
    const { position: p, index } = mesh, faces = [], around = new Map();
    for (let i = 0; i < index.length; i += 3) {
      faces.push(faceNormal(p, 3 * index[i], 3 * index[i + 1], 3 * index[i + 2]));
      for (let k = 0; k < 3; k++) {
        const v = index[i + k], key = `${p[3 * v].toFixed(6)},${p[3 * v + 1].toFixed(6)},${p[3 * v + 2].toFixed(6)}`;
        if (!around.has(key)) around.set(key, []);
        around.get(key).push(i / 3);
      }
    }
    const position = new Float32Array(3 * index.length), normal = new Float32Array(3 * index.length);
    for (let i = 0; i < index.length; i++) {
      const v = index[i], own = unit(faces[Math.floor(i / 3)]);
      const key = `${p[3 * v].toFixed(6)},${p[3 * v + 1].toFixed(6)},${p[3 * v + 2].toFixed(6)}`;
      let sum = [0, 0, 0];
      for (const f of around.get(key)) if (dot(unit(faces[f]), own) > 0.766) sum = add(sum, faces[f]);
      for (let a = 0; a < 3; a++) { position[3 * i + a] = p[3 * v + a]; normal[3 * i + a] = sum[a]; }
    }
    return { position, normal, speed: new Uint8Array(4 * index.length), index: Uint32Array.from({ length: index.length }, (_, i) => i) };
  };

  // ---- Drawing.
  const vertexShader = `#version 300 es
    in vec3 position; in vec3 normal; in vec4 speed;
    uniform mat4 camera, place; uniform int channel; out vec3 at, n; out float fast;
    void main() { vec4 p = place * vec4(position, 1.); at = p.xyz; n = mat3(place) * normal; fast = speed[channel]; gl_Position = camera * p; }`;
  const light = `
    vec3 sky(vec3 d) {
      float up = smoothstep(-.15, .8, d.y);
      vec3 c = mix(vec3(.10, .105, .115), vec3(.62, .70, .80), up);
      c += vec3(1.5, 1.42, 1.3) * smoothstep(.90, .985, dot(d, normalize(vec3(.45, .75, .5))));
      return c + vec3(.5) * smoothstep(.93, .97, dot(d, normalize(vec3(-.8, .35, .45))));
    }`;
  const fragmentShader = `#version 300 es
    precision highp float;
    in vec3 at, n; in float fast; uniform vec3 eye, tint; uniform int mode; uniform float fade; out vec4 colour;
    ${light}
    vec3 ramp(float s) {
      vec3 c[6] = vec3[6](vec3(.035,.06,.22), vec3(.03,.20,.42), vec3(.03,.42,.42), vec3(.25,.62,.22), vec3(.92,.68,.10), vec3(1.,.93,.72));
      float p = clamp(s, 0., 1.) * 5.; int i = min(int(p), 4); return mix(c[i], c[i + 1], p - float(i));
    }
    void main() {
      vec3 N = normalize(n), V = normalize(eye - at); if (dot(N, V) < 0.) N = -N;
      float wrap = .5 + .5 * dot(N, normalize(vec3(.45, .75, .5)));
      float facing = max(dot(N, V), 0.), fresnel = .02 + .98 * pow(1. - facing, 5.);
      vec3 mirror = sky(reflect(-V, N)), c; float a = 1.;
      if (mode == 0 || mode == 4) {
        vec3 deep = tint * tint * tint;
        c = mode == 4 ? tint * (.30 + .75 * wrap * wrap) : deep * (.10 + .42 * wrap * wrap) + deep * sky(refract(-V, N, .75)) * .55;
        c = mix(c, mirror, mode == 4 ? .05 + .6 * fresnel : min(1., 1.2 * fresnel + .06)); a = mode == 4 ? 1. : mix(.74, 1., pow(1. - facing, 2.));
      } else if (mode == 1) { c = ramp(fast) * (.45 + .75 * wrap); c = mix(c, mirror, .25 * fresnel + .02); }
      else if (mode == 2) { c = vec3(.30, .42, .52) * (.25 + .95 * wrap * wrap); c = mix(c, mirror, .2 * fresnel); }
      else if (mode == 3) { c = mirror; a = .05 + .75 * fresnel; }
      else { c = vec3(.46, .435, .41) * (.30 + .85 * wrap * wrap); c = mix(c, mirror, .25 * fresnel + .02); }
      colour = vec4(pow(c / (c + .72) * 1.5, vec3(1. / 2.2)), a * fade);
    }`;
  const groundShader = `#version 300 es
    precision highp float;
    in vec3 at, n; in float fast; uniform vec3 eye, tint; uniform float cell, size; out vec4 colour;
    void main() {
      vec2 p = at.xz / cell, d = fwidth(p), g = abs(fract(p - .5) - .5) / max(d, vec2(1e-6));
      float line = (1. - min(min(g.x, g.y), 1.)) * .10 * (1. - smoothstep(.3, .9, max(d.x, d.y)));
      float far = smoothstep(1.2, 3.6, length(at.xz - tint.xz) / size);
      vec3 c = vec3(.40, .41, .43) * (1. - line);
      colour = vec4(c, 1. - far);
    }`;
  const shadowShader = `#version 300 es
    precision highp float;
    in vec3 at, n; in float fast; uniform vec3 eye, tint; uniform float size; out vec4 colour;
    void main() { colour = vec4(.03, .035, .045, .34 * (1. - smoothstep(.9, 2.6, length(at.xz - tint.xz) / size))); }`;
  const backShader = [`#version 300 es
    in vec3 position; out vec2 p; void main() { p = position.xy; gl_Position = vec4(position.xy, .9999, 1.); }`,
    `#version 300 es
    precision highp float; in vec2 p; out vec4 colour;
    void main() { colour = vec4(mix(vec3(.235, .25, .27), vec3(.115, .125, .14), smoothstep(-.2, 1.2, p.y + .15 * p.x * p.x)), 1.); }`];
  const program = (vertex, fragment) => {
    const made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(made, shader);
    }
    ["position", "normal", "speed"].forEach((name, i) => gl.bindAttribLocation(made, i, name));
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    return made;
  };
  let surface, ground, shadow, back;
  try {
    surface = program(vertexShader, fragmentShader); ground = program(vertexShader, groundShader);
    shadow = program(vertexShader, shadowShader); back = program(...backShader);
  } catch (error) { fail(`The graphics driver refused a shader: ${error.message}`); return; }
  const upload = ({ position, normal, speed, index }) => {
    const array = gl.createVertexArray(), buffers = [];
    gl.bindVertexArray(array);
    const attribute = (i, values, width, type, normalised) => {
      const buffer = gl.createBuffer(); buffers.push(buffer);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer); gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(i); gl.vertexAttribPointer(i, width, type, normalised, 0, 0);
    };
    attribute(0, position, 3, gl.FLOAT, false); attribute(1, normal, 3, gl.FLOAT, false); attribute(2, speed, 4, gl.UNSIGNED_BYTE, true);
    const elements = gl.createBuffer(); buffers.push(elements);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, elements); gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, index, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, count: index.length, bytes: 28 * position.length / 3 + 4 * index.length,
      free: () => { gl.deleteVertexArray(array); buffers.forEach((b) => gl.deleteBuffer(b)); } };
  };
  const quad = (points) => upload({ position: new Float32Array(points.flat()), normal: new Float32Array(12).fill(1), speed: new Uint8Array(16), index: new Uint32Array([0, 1, 2, 0, 2, 3]) });
  const screen = quad([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]);
  const reach = 12 * data.size, floor = data.ground - 1e-4 * data.size, [tx, , tz] = data.target;
  const plane = quad([[tx - reach, floor, tz - reach], [tx + reach, floor, tz - reach], [tx + reach, floor, tz + reach], [tx - reach, floor, tz + reach]]);

  // ---- Frames come and go within a limit of memory.
  const kept = new Map(), loading = new Map(), LIMIT = 900e6;
  const load = (id, prepare) => {
    if (kept.has(id)) { const mesh = kept.get(id); kept.delete(id); kept.set(id, mesh); return Promise.resolve(mesh); }
    if (!loading.has(id)) loading.set(id, unpack(id).then((mesh) => {
      const made = upload(prepare(mesh));
      kept.set(id, made); loading.delete(id);
      let held = [...kept.values()].reduce((s, m) => s + m.bytes, 0);
      for (const [old, m] of kept) { if (held <= LIMIT || old === id) break; m.free(); kept.delete(old); held -= m.bytes; }
      return made;
    }));
    return loading.get(id);
  };
  const liquid = (i) => load(`f${i}`, (mesh) => ({ ...mesh, normal: smooth(mesh) }));
  const solid = (s, i) => load(`s${s.meshes.length > 1 ? s.meshes[i] : s.meshes[0]}`, creased);

  // ---- State.
  const hash = new URLSearchParams(location.hash.slice(1));
  const frames = data.frames;
  let current = Math.max(0, frames.findIndex((f) => f.frame === +hash.get("frame")));
  // Ways to look: the liquid itself, a channel, clay.
  const looks = [{ name: "liquid", kind: 0, channel: 0 }, ...data.channels.slice(0, 4).map((c, i) => ({ name: c.name, kind: 1, channel: i })), { name: "clay", kind: 2, channel: 0 }];
  let look = looks[Math.max(0, looks.findIndex((l) => l.name === hash.get("mode")))];
  let playing = hash.has("play"), shown = null, wanted = 0;
  const home = () => {
    const d = sub(data.eye, data.target), r = Math.hypot(...d);
    return { target: [...data.target], distance: r, turn: Math.atan2(d[0], d[2]), rise: Math.asin(d[1] / r) };
  };
  let orbit = home();
  if (hash.has("turn")) orbit.turn = +hash.get("turn");
  if (hash.has("rise")) orbit.rise = +hash.get("rise");
  const eyeOf = (o) => add(o.target, [Math.sin(o.turn) * Math.cos(o.rise), Math.sin(o.rise), Math.cos(o.turn) * Math.cos(o.rise)], o.distance);

  const show = async (index) => {
    const mine = ++wanted;
    current = Math.min(frames.length - 1, Math.max(0, index));
    $("frame").value = current;
    numbers();
    const meshes = await Promise.all([liquid(current), ...data.solids.map((s) => solid(s, current))]);
    if (mine !== wanted) return;
    shown = { index: current, liquid: meshes[0], solids: meshes.slice(1) };
    draw();
    for (let k = 1; k <= 3; k++) if (current + k < frames.length) liquid(current + k);
    document.body.dataset.ready = frames[current].frame;
  };
  const draw = () => {
    if (!shown) return;
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    gl.viewport(0, 0, width, height);
    gl.clearColor(.1, .11, .12, 1); gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.disable(gl.CULL_FACE); gl.depthFunc(gl.LEQUAL); gl.depthMask(true);
    const eye = eyeOf(orbit), near = Math.max(orbit.distance - 3 * data.size, .01 * data.size);
    const camera = times(perspective(28 * Math.max(1, .7 * height / width), width / height, near, orbit.distance + 30 * data.size), lookAt(eye, orbit.target));
    let used;
    const use = (p) => {
      used = p; gl.useProgram(p);
      const at = (name) => gl.getUniformLocation(p, name);
      gl.uniformMatrix4fv(at("camera"), false, camera); gl.uniform3fv(at("eye"), eye);
      gl.uniform1f(at("fade"), 1); gl.uniform1i(at("channel"), look.channel); gl.uniform1f(at("cell"), gridCell); gl.uniform1f(at("size"), data.size);
    };
    const put = (mesh, place, kind, colour) => {
      gl.uniformMatrix4fv(gl.getUniformLocation(used, "place"), false, place);
      gl.uniform1i(gl.getUniformLocation(used, "mode"), kind); gl.uniform3fv(gl.getUniformLocation(used, "tint"), colour);
      gl.bindVertexArray(mesh.array); gl.drawElements(gl.TRIANGLES, mesh.count, gl.UNSIGNED_INT, 0);
    };
    const frame = frames[shown.index], middle = [data.target[0], 0, data.target[2]];
    const places = data.solids.map((s) => placed(frame.poses.find((p) => p.name === s.name)));
    gl.disable(gl.BLEND);
    gl.useProgram(back); gl.bindVertexArray(screen.array); gl.depthMask(false); gl.drawElements(gl.TRIANGLES, 6, gl.UNSIGNED_INT, 0); gl.depthMask(true);
    if (eye[1] > data.ground) {
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
      use(ground); put(plane, same, 0, middle);
      // Everything flattened along the light, once a pixel.
      const flat = new Float32Array([1, 0, 0, 0, -.6, 0, -.667, 0, 0, 0, 1, 0, .6 * data.ground, data.ground, .667 * data.ground, 1]);
      use(shadow);
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
      gl.enable(gl.STENCIL_TEST); gl.stencilFunc(gl.EQUAL, 0, 255); gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
      gl.enable(gl.POLYGON_OFFSET_FILL); gl.polygonOffset(-2, -4);
      put(shown.liquid, flat, 0, middle);
      data.solids.forEach((s, i) => { if (!s.glass) put(shown.solids[i], times(flat, places[i]), 0, middle); });
      gl.disable(gl.STENCIL_TEST); gl.disable(gl.POLYGON_OFFSET_FILL); gl.depthMask(true);
    }
    use(surface);
    gl.disable(gl.BLEND);
    data.solids.forEach((s, i) => { if (!s.glass) put(shown.solids[i], places[i], 5, [1, 1, 1]); });
    const kind = look.kind === 0 && !data.clear ? 4 : look.kind;
    if (kind === 0) {
      // The nearest sheet alone is seen, and solids through it.
      gl.colorMask(false, false, false, false); put(shown.liquid, same, kind, data.tint); gl.colorMask(true, true, true, true);
      gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    }
    put(shown.liquid, same, kind, data.tint);
    gl.enable(gl.BLEND); gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA); gl.depthMask(false);
    data.solids.forEach((s, i) => { if (s.glass) put(shown.solids[i], places[i], 3, [1, 1, 1]); });
    gl.depthMask(true);
  };
  // Lines of the ground at a round distance: a tenth of the scene or so.
  const gridCell = (() => { const rough = data.size / 8, p = 10 ** Math.floor(Math.log10(rough)); return [1, 2, 5, 10].map((m) => m * p).find((m) => m >= rough); })();

  // ---- Words.
  const digits = (v, n = 3) => (Number.isFinite(v) ? +v.toPrecision(n) + "" : "–");
  const numbers = () => {
    const f = frames[current], off = f.expected > 0 ? 100 * (f.litres / f.expected - 1) : 0;
    const lines = [["volume", `${digits(f.litres, 4)} l (${off >= 0 ? "+" : ""}${off.toFixed(3)} %)`], ["fastest", `${digits(f.speed)} m/s`],
      ["substeps", `${f.substeps}${f.substeps ? ` · ${f.rule}` : ""}`], ["iterations", `${f.iterations}`], ["computed in", `${digits(f.seconds)} s`],
      ["cells", `${f.cells.toLocaleString("en")}`], ["particles", `${f.particles.toLocaleString("en")}`], ["triangles", `${f.triangles.toLocaleString("en")}`]];
    $("numbers").replaceChildren(...lines.flatMap(([name, value]) => {
      const dt = document.createElement("dt"), dd = document.createElement("dd");
      dt.textContent = name; dd.textContent = value; return [dt, dd];
    }));
    $("note").textContent = [...f.warnings, data.coarser ? "shown coarser than simulated, to fit into one page" : ""].filter(Boolean).join(" · ");
    $("now").textContent = `frame ${f.frame} · ${f.time.toFixed(2)} s`;
  };
  const buttons = looks.map((l) => {
    const button = document.createElement("button");
    button.textContent = l.name[0].toUpperCase() + l.name.slice(1);
    button.addEventListener("click", () => { look = l; modes(); });
    $("modes").insertBefore(button, $("home"));
    return button;
  });
  const modes = () => {
    buttons.forEach((b, i) => b.classList.toggle("on", looks[i] === look));
    const channel = look.kind === 1 ? data.channels[look.channel] : null;
    $("legend").style.display = channel ? "block" : "none";
    if (channel) {
      $("what").textContent = channel.logarithmic ? `${channel.name}, logarithmic` : channel.name;
      $("low").textContent = digits(channel.low); $("top").textContent = `${digits(channel.high)} ${channel.unit}`.trim();
    }
    document.body.dataset.mode = look.name;
    draw();
  };
  $("ramp").style.background = "linear-gradient(90deg," + [[.035, .06, .22], [.03, .2, .42], [.03, .42, .42], [.25, .62, .22], [.92, .68, .1], [1, .93, .72]]
    .map((c) => `rgb(${c.map((v) => Math.round(255 * v ** (1 / 2.2))).join(",")})`).join(",") + ")";
  const top = Math.max(...frames.map((f) => f.speed), 1e-9);
  $("spark").setAttribute("viewBox", `0 0 ${Math.max(1, frames.length - 1)} 1`);
  $("spark").innerHTML = `<path fill="#56a8e0" fill-opacity=".28" d="M0 1${frames.map((f, i) => `L${i} ${(1 - .95 * f.speed / top).toFixed(3)}`).join("")}L${Math.max(1, frames.length - 1)} 1Z"/>`;

  // ---- Hands.
  const play = (on) => { playing = on; $("play").textContent = on ? "❚❚" : "▶"; if (on) tick(performance.now()); };
  let begun = null;
  const tick = (now) => {
    if (!playing) return;
    if (begun === null) begun = { now, index: current };
    const step = Math.floor((now - begun.now) / 1000 * data.fps / data.every);
    const index = (begun.index + step) % frames.length;
    const next = () => requestAnimationFrame(tick);
    if (index !== current) show(index).then(next); else next();
  };
  data.every = frames.length > 1 ? frames[1].frame - frames[0].frame : 1;
  $("frame").max = frames.length - 1;
  $("frame").addEventListener("input", () => { play(false); begun = null; show(+$("frame").value); });
  $("play").addEventListener("click", () => { begun = null; play(!playing); });
  $("home").addEventListener("click", () => { orbit = home(); draw(); });
  addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -1e9, End: 1e9 }[event.key];
    if (event.key === " ") { event.preventDefault(); begun = null; play(!playing); }
    else if (step) { event.preventDefault(); play(false); show(current + step); }
  });
  const fingers = new Map();
  canvas.addEventListener("pointerdown", (e) => { fingers.set(e.pointerId, e); canvas.setPointerCapture(e.pointerId); });
  for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => fingers.delete(e.pointerId));
  const pan = (dx, dy) => {
    const z = unit(sub(eyeOf(orbit), orbit.target)), x = unit(cross([0, 1, 0], z)), y = cross(z, x), s = orbit.distance * .0009;
    orbit.target = add(add(orbit.target, x, -dx * s), y, dy * s);
  };
  canvas.addEventListener("pointermove", (e) => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    const dx = e.clientX - before.clientX, dy = e.clientY - before.clientY;
    if (fingers.size === 2) {
      const other = [...fingers.values()].find((f) => f.pointerId !== e.pointerId);
      const far = (p) => Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY);
      orbit.distance *= far(before) / Math.max(1, far(e)); pan(dx / 2, dy / 2);
    } else if (e.shiftKey || e.buttons === 4 || e.buttons === 2) pan(dx, dy);
    else { orbit.turn -= dx * .006; orbit.rise = Math.min(1.55, Math.max(-1.55, orbit.rise + dy * .006)); }
    fingers.set(e.pointerId, e); draw();
  });
  canvas.addEventListener("contextmenu", (e) => e.preventDefault());
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); orbit.distance *= Math.exp(e.deltaY * .001); draw(); }, { passive: false });
  addEventListener("resize", draw);
  modes();
  show(current).then(() => { if (playing) play(true); }).catch((error) => fail(`A frame could not be unpacked: ${error.message}`));
})();
