"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const stage = document.getElementById("stage");
const sliders = data.axes.map((_, i) => document.getElementById(`axis-${i}`));
const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
const NAMED = 24;
let yaw = 0.5;
let pitch = 0.35;
let shown = null;

function element(parent, name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  parent.append(made);
  return made;
}

function position() {
  return sliders.reduce((sum, slider, i) => sum * data.axes[i].values.length + Number(slider.value), 0);
}

function number(x) {
  return Number(x.toPrecision(4)).toString();
}

function turned(point) {
  if (data.dims === 2) return [point[0], -point[1], 0];
  const [x, y, z] = point;
  const a = x * Math.cos(yaw) + z * Math.sin(yaw);
  const b = z * Math.cos(yaw) - x * Math.sin(yaw);
  return [a, -(y * Math.cos(pitch) - b * Math.sin(pitch)), y * Math.sin(pitch) + b * Math.cos(pitch)];
}

function globe() {
  element(stage, "circle", { r: 1, class: "rim" });
  if (data.dims === 2) return;
  for (let ring = 0; ring < 3; ring++) {
    const path = [];
    for (let step = 0; step <= 60; step++) {
      const angle = (step * Math.PI) / 30;
      const flat = [Math.cos(angle), Math.sin(angle)];
      const point = ring === 0 ? [flat[0], 0, flat[1]] : ring === 1 ? [flat[0], flat[1], 0] : [0, flat[0], flat[1]];
      path.push(turned(point).slice(0, 2).map((value) => value.toFixed(3)).join(" "));
    }
    element(stage, "path", { d: `M${path.join("L")}`, class: "rim", opacity: 0.4 });
  }
}

function labels(points) {
  const groups = [];
  points.slice(0, data.first).forEach((point, i) => {
    const near = groups.find((group) => Math.hypot(group.x - point[0], group.y - point[1]) < 0.06);
    if (near) near.names.push(data.names[i]);
    else groups.push({ x: point[0], y: point[1], names: [data.names[i]] });
  });
  for (const group of groups) {
    const extra = group.names.length > 3 ? ` +${group.names.length - 3}` : "";
    const far = Math.max(0.2, Math.hypot(group.x, group.y));
    const attributes = {
      x: group.x * (1 + 0.1 / far),
      y: group.y * (1 + 0.12 / far) + 0.03,
      "text-anchor": group.x > 0.15 ? "start" : group.x < -0.15 ? "end" : "middle",
    };
    element(stage, "text", attributes, group.names.slice(0, 3).join(", ") + extra);
  }
}

function draw(at) {
  stage.replaceChildren();
  globe();
  if (at === null) return;
  const points = at.map(turned);
  const many = points.length > 2 * NAMED;
  if (data.nouns.length) {
    for (let i = 0; i < Math.min(data.first, points.length - data.first); i++) {
      const [a, b] = [points[i], points[data.first + i]];
      element(stage, "line", { x1: a[0], y1: a[1], x2: b[0], y2: b[1], class: "link" });
    }
  } else if (!many) {
    for (const [x, y] of points) element(stage, "line", { x1: 0, y1: 0, x2: x, y2: y, class: "spoke" });
  }
  const order = points.map((_, i) => i).sort((a, b) => points[a][2] - points[b][2]);
  for (const i of order) {
    const [x, y, depth] = points[i];
    const second = i >= data.first;
    const radius = (many ? 0.02 : 0.035) * (1 + 0.25 * depth) * (second ? 1.3 : 1);
    const dot = element(stage, "circle", { cx: x, cy: y, r: radius, class: second ? "dot second" : "dot" });
    dot.setAttribute("opacity", data.dims === 3 ? 0.65 + 0.35 * Math.max(-1, Math.min(1, depth)) : 1);
    element(dot, "title", {}, data.nouns.length ? `${data.nouns[second ? 1 : 0]} ${data.names[i]}` : data.names[i]);
  }
  if (data.first <= NAMED) labels(points);
}

function move(target) {
  const from = shown;
  shown = target;
  if (still || from === null || target === null) return draw(target);
  const began = performance.now();
  let over = false;
  const end = () => {
    over = true; // a frame that comes late leaves what is drawn then
    if (shown === target) draw(target);
  };
  const step = (now) => {
    if (over || shown !== target) return;
    const part = Math.max(0, (now - began) / 180); // a frame's time may be before the call
    if (part >= 1) return end();
    draw(target.map((point, i) => point.map((value, j) => from[i][j] + part * (value - from[i][j]))));
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  setTimeout(end, 250); // where no frames come
}

function chart(name, title, curves, unit) {
  const svg = document.getElementById(name);
  svg.replaceChildren();
  const axis = data.axes[0];
  const [left, right, top, bottom] = [58, 350, 22, 122];
  const scale = (x) => (axis.log ? Math.log(x) : x);
  const ends = [Math.min(...axis.values), Math.max(...axis.values)].map(scale);
  const across = (x) => left + ((right - left) * (scale(x) - ends[0])) / (ends[1] - ends[0] || 1);
  const known = curves.flatMap((curve) => curve.values).filter((value) => typeof value === "number");
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (!(high - low > 1e-9)) [low, high] = [low - 1, high + 1];
  const up = (y) => bottom - ((bottom - top) * (y - low)) / (high - low);
  element(svg, "text", { x: left, y: 12 }, title);
  element(svg, "path", { d: `M${left} ${top}V${bottom}H${right}`, class: "axis", fill: "none" });
  for (const y of [low, high]) element(svg, "text", { x: left - 4, y: up(y) + 4, "text-anchor": "end" }, number(y) + unit);
  for (const [x, anchor] of [[Math.min(...axis.values), "start"], [Math.max(...axis.values), "end"]]) {
    element(svg, "text", { x: across(x), y: bottom + 14, "text-anchor": anchor }, number(x));
  }
  element(svg, "text", { x: (left + right) / 2, y: bottom + 26, "text-anchor": "middle" }, axis.label);
  for (const mark of marks()) {
    const x = across(mark[axis.name]);
    if (x < left - 1 || x > right + 1) continue;
    element(svg, "line", { x1: x, x2: x, y1: top - 4, y2: bottom, class: "mark" });
    const anchor = x > (left + right) / 2 ? "end" : "start";
    const word = `${mark.collapsed_above ? "collapse from" : "collapse up to"} ${number(mark[axis.name])}`;
    element(svg, "text", { x: x + (anchor === "end" ? -4 : 4), y: top + 8, "text-anchor": anchor, class: "mark-text" }, word);
  }
  for (const curve of curves) {
    let pen = "M";
    let path = "";
    axis.values.map((x, i) => [x, curve.values[i]]).sort((a, b) => a[0] - b[0]).forEach(([x, y]) => {
      if (typeof y !== "number") pen = "M";
      else {
        path += `${pen}${across(x).toFixed(1)} ${up(y).toFixed(1)}`;
        pen = "L";
      }
    });
    element(svg, "path", { d: path, class: `line ${curve.kind}` });
    const here = curve.values[Number(sliders[0].value)];
    const x = axis.values[Number(sliders[0].value)];
    if (typeof here === "number") element(svg, "circle", { cx: across(x), cy: up(here), r: 4, class: "here" });
  }
  svg.onclick = (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) * 360) / box.width;
    const far = axis.values.map((value) => Math.abs(across(value) - x));
    sliders[0].value = far.indexOf(Math.min(...far));
    update();
  };
}

function marks() {
  const second = data.axes[1];
  if (!second) return data.marks;
  const value = second.values[Number(sliders[1].value)];
  return data.marks.filter((mark) => Math.abs(mark[second.name] - value) <= 1e-9 * Math.abs(value));
}

function along(key) {
  const [first, second] = data.axes;
  const stride = second ? second.values.length : 1;
  const offset = second ? Number(sliders[1].value) : 0;
  return first.values.map((_, i) => data.points[i * stride + offset][key]);
}

function update() {
  const point = data.points[position()];
  sliders.forEach((slider, i) => {
    const text = number(data.axes[i].values[Number(slider.value)]);
    document.getElementById(`at-${i}`).textContent = text;
    slider.setAttribute("aria-valuetext", text);
  });
  document.getElementById("said").textContent = point.said;
  document.getElementById("proof").textContent = point.proof;
  const part = point.share < 0.995 && point.at ? `The picture shows ${Math.round(100 * point.share)} % of the geometry. ` : "";
  const drag = data.dims === 3 ? "Drag, or use the arrow keys, to turn the sphere." : "";
  document.getElementById("hint").textContent = part + drag;
  stage.setAttribute("aria-label", `${data.classes}: ${point.said}`);
  move(point.at);
  chart("loss", "optimal loss, nats", [{ values: along("loss"), kind: "" }], "");
  const two = data.nouns.length > 0;
  const title = two ? "degrees to the own partner (blue), next other (green)" : "angles: smallest (blue), largest (green)";
  chart("angle", title, [{ values: along("low"), kind: "" }, { values: along("high"), kind: "high" }], "°");
}

if (data.dims === 3) {
  stage.classList.add("space");
  let held = null;
  stage.addEventListener("pointerdown", (event) => {
    held = [event.clientX, event.clientY];
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!held) return;
    yaw += (event.clientX - held[0]) * 0.008;
    pitch = Math.max(-1.5, Math.min(1.5, pitch + (event.clientY - held[1]) * 0.008));
    held = [event.clientX, event.clientY];
    draw(shown);
  });
  stage.addEventListener("pointerup", () => (held = null));
  stage.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-0.15, 0], ArrowRight: [0.15, 0], ArrowUp: [0, -0.15], ArrowDown: [0, 0.15] }[event.key];
    if (!by) return;
    event.preventDefault();
    yaw += by[0];
    pitch = Math.max(-1.5, Math.min(1.5, pitch + by[1]));
    draw(shown);
  });
}
sliders.forEach((slider) => slider.addEventListener("input", update));
update();
