// Values under the pointer, in all plots at once, and the nearest picture. The page is complete without this.
"use strict";
(() => {
  const element = document.getElementById("data");
  const pictures = [...document.querySelectorAll(".sheet figure")];
  const dialog = document.createElement("dialog");
  document.body.append(dialog);
  dialog.addEventListener("click", () => dialog.close());
  for (const figure of pictures) {
    figure.addEventListener("click", () => {
      dialog.replaceChildren(figure.querySelector("img").cloneNode());
      dialog.showModal();
    });
  }
  if (!element) return;
  const data = JSON.parse(element.textContent);
  const plots = [...document.querySelectorAll("svg[data-chart]")];
  const number = (v) => (v === null || v === undefined ? "–" : +v.toPrecision(5) + "");
  const show = (index) => {
    for (const svg of plots) {
      const chart = data.charts[+svg.dataset.chart];
      const cross = svg.querySelector(".cross");
      const output = svg.parentElement.querySelector("output");
      if (index === null) { cross.style.visibility = "hidden"; output.textContent = ""; continue; }
      const [left, right] = svg.dataset.axis.split(",").map(Number);
      const first = data.frames[0], last = Math.max(data.frames[data.frames.length - 1], first + 1);
      const x = left + ((data.frames[index] - first) / (last - first)) * (right - left);
      cross.setAttribute("x1", x); cross.setAttribute("x2", x); cross.style.visibility = "visible";
      const single = chart.lines.length === 1;
      const total = chart.lines.reduce((s, l) => s + (l.values[index] || 0), 0);
      let text = single ? number(chart.lines[0].values[index])
        : chart.lines.length > 3 ? number(total)
        : chart.lines.map((l) => `${l.name} ${number(l.values[index])}`).join(" · ");
      if (chart.notes) text += ` · ${chart.notes[index]}`;
      output.textContent = `frame ${data.frames[index]}: ${text} ${chart.unit}`;
    }
    const frame = index === null ? null : data.frames[index];
    let best = null;
    for (const p of pictures) {
      p.classList.remove("near");
      if (frame !== null && (best === null || Math.abs(p.dataset.frame - frame) < Math.abs(best.dataset.frame - frame))) best = p;
    }
    if (best) best.classList.add("near");
  };
  for (const svg of plots) {
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const [left, right] = svg.dataset.axis.split(",").map(Number);
      const at = ((event.clientX - box.left) / box.width * 600 - left) / (right - left);
      const first = data.frames[0], last = data.frames[data.frames.length - 1];
      const frame = first + at * (last - first);
      let index = 0;
      data.frames.forEach((f, i) => { if (Math.abs(f - frame) < Math.abs(data.frames[index] - frame)) index = i; });
      show(index);
    });
    svg.addEventListener("pointerleave", () => show(null));
  }
})();
