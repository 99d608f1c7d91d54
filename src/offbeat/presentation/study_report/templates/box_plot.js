// Draws boxes with their points as SVG: box = quartiles, line in it = median, whiskers = the farthest values within
// 1.5 interquartile ranges (Tukey, Exploratory Data Analysis, 1977), dots = values.
"use strict";

const BoxPlot = (() => {
  const HEIGHT = 450, LEFT = 70, RIGHT = 12, TOP = 12, CHARACTER = 7.5;

  function node(parent, tag, attributes, text) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    parent.append(element);
    return element;
  }

  function quantile(sorted, share) {
    const position = (sorted.length - 1) * share, below = Math.floor(position);
    return sorted[below] + (position - below) * ((sorted[below + 1] ?? sorted[below]) - sorted[below]);
  }

  function summary(values) {
    const sorted = [...values].sort((a, b) => a - b);
    const [low, median, high] = [0.25, 0.5, 0.75].map((share) => quantile(sorted, share));
    const reach = 1.5 * (high - low);
    const inside = sorted.filter((value) => value >= low - reach && value <= high + reach);
    return { low, median, high, bottom: inside[0], top: inside[inside.length - 1], count: sorted.length };
  }

  // Round numbers: 1, 2 or 5 times powers of ten, about six of them; on a logarithmic axis at most ten.
  function ticks(from, to, isLog) {
    if (isLog) {
      const decades = Math.log10(to / from);
      const steps = decades > 3 ? [1] : [1, 2, 5];
      const numbers = [];
      for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
        numbers.push(...steps.map((step) => step * 10 ** power));
      }
      return numbers.filter((number) => number >= from && number <= to);
    }
    const rough = (to - from) / 6 || 1, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
    return Array.from({ length: Math.floor(to / step) + 1 }, (_, i) => i * step).filter((number) => number >= from);
  }

  function label(number) {
    return String(Number(number.toPrecision(3)));
  }

  // The vertical axis: from 0, or from the smallest positive value on a logarithmic scale, to the largest value.
  function scale(values, isLog, bottom) {
    const used = isLog ? values.filter((value) => value > 0) : values;
    const largest = used.length ? used.reduce((a, b) => Math.max(a, b)) : 1;
    const smallest = isLog ? used.reduce((a, b) => Math.min(a, b), largest) : 0;
    const from = isLog ? smallest / 1.1 : 0, to = largest > from ? largest * 1.05 : from + 1;
    const share = (value) => isLog ? Math.log(value / from) / Math.log(to / from) : (value - from) / (to - from);
    const y = (value) => bottom - Math.max(0, share(Math.max(value, from))) * (bottom - TOP);
    return { y, numbers: ticks(from, to, isLog) };
  }

  function axis(svg, { y, numbers }, width, bottom, title) {
    for (const number of numbers) {
      node(svg, "line", { x1: LEFT, x2: width - RIGHT, y1: y(number), y2: y(number), class: "plot-line" });
      node(svg, "text", { x: LEFT - 6, y: y(number) + 4, "text-anchor": "end", class: "y-tick" }, label(number));
    }
    node(svg, "text", { transform: `translate(16 ${(TOP + bottom) / 2}) rotate(-90)`, "text-anchor": "middle",
      class: "y-title" }, title);
  }

  function box(svg, { name, values }, centre, half, y, unit) {
    const group = node(svg, "g", { class: "box", "data-name": name, "data-count": values.length });
    if (!values.length) return;
    const { low, median, high, bottom, top, count } = summary(values);
    group.dataset.median = median;
    const text = `${name}: median ${label(median)} ${unit}, quartiles ${label(low)} and ${label(high)} ${unit}`;
    node(group, "title", {}, count > 1 ? `${text}, ${count} values` : `${name}: ${label(median)} ${unit}`);
    if (count > 5) {
      values.forEach((value, i) => { // the golden ratio spreads successive dots evenly
        const x = centre + half * 0.8 * (2 * ((i * 0.618034) % 1) - 1);
        node(group, "circle", { cx: x.toFixed(1), cy: y(value).toFixed(1), r: 1.5 });
      });
    }
    node(group, "line", { x1: centre, x2: centre, y1: y(bottom), y2: y(low) });
    node(group, "line", { x1: centre, x2: centre, y1: y(high), y2: y(top) });
    node(group, "rect", { x: centre - half, width: 2 * half, y: y(high), height: Math.max(y(low) - y(high), 0.5) });
    node(group, "line", { x1: centre - half, x2: centre + half, y1: y(median), y2: y(median), class: "median" });
  }

  // Draw boxes [{name, values}] in an element; the colour is a CSS colour, the title that of the vertical axis.
  function draw(place, boxes, { title, unit, colour, isLog }) {
    const longest = Math.max(0, ...boxes.map((entry) => entry.name.length));
    const slot = (Math.max(place.parentElement.clientWidth - LEFT - RIGHT, 0)) / Math.max(boxes.length, 1);
    const isTilted = longest * CHARACTER > Math.max(slot, 34);
    const step = Math.max(slot, isTilted ? 34 : longest * CHARACTER + 10);
    const width = LEFT + RIGHT + step * boxes.length;
    const bottom = HEIGHT - (isTilted ? Math.min(longest, 30) * CHARACTER + 16 : 34);
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    for (const [name, value] of Object.entries({ width, height: HEIGHT, role: "img" })) svg.setAttribute(name, value);
    svg.setAttribute("aria-label", `${title}: ${boxes.map((entry) => entry.name).join(", ")}`);
    svg.style.setProperty("--box", colour);
    const measures = scale(boxes.flatMap((entry) => entry.values), isLog, bottom);
    axis(svg, measures, width, bottom, title);
    boxes.forEach((entry, i) => {
      const centre = LEFT + (i + 0.5) * step;
      box(svg, entry, centre, Math.min(step * 0.32, 40), measures.y, unit);
      const short = entry.name.length > 30 ? `${entry.name.slice(0, 29)}…` : entry.name;
      const turned = isTilted ? ` rotate(-90)` : "";
      node(svg, "text", { transform: `translate(${centre + (isTilted ? 4 : 0)} ${bottom + (isTilted ? 8 : 20)})${turned}`,
        "text-anchor": isTilted ? "end" : "middle", class: "x-tick" }, short);
    });
    place.replaceChildren(svg);
  }

  return { draw };
})();
