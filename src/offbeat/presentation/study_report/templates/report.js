// Expands the target configuration of a link, expands or collapses all configurations, draws the distributions.
"use strict";

function openLinked() {
  const target = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

function openAll(event) {
  for (const configuration of document.querySelectorAll("details.configuration")) {
    configuration.open = event.currentTarget.dataset.open === "true";
  }
}

function option(value, text) {
  const element = document.createElement("option");
  element.value = value;
  element.textContent = text;
  return element;
}

class Distribution {
  constructor(data) {
    this.data = data;
    this.place = document.getElementById("plot");
    this.configuration = document.getElementById("plot-configuration");
    this.fixed = document.getElementById("plot-fixed");
    this.log = document.getElementById("plot-log");
    data.configurations.forEach((configuration, index) => this.configuration.append(option(index, configuration.title)));
    this.configuration.addEventListener("change", () => { this.offer(); this.draw(); });
    this.fixed.addEventListener("change", () => this.draw());
    this.log.addEventListener("change", () => this.draw());
    addEventListener("resize", () => this.draw());
    this.offer();
    this.draw();
  }

  shown() {
    return this.data.configurations[Number(this.configuration.value)];
  }

  // Offer each pattern and algorithm of this configuration; keep the last selection if it exists.
  offer() {
    const before = this.fixed.selectedOptions[0] ? this.fixed.selectedOptions[0].textContent : "";
    const { patterns, algorithms } = this.shown();
    this.fixed.replaceChildren(
      ...patterns.map((name, i) => option(`pattern:${i}`, `all algorithms under ${name}`)),
      ...algorithms.map((name, j) => option(`algorithm:${j}`, `${name} under all patterns`)),
    );
    for (const entry of this.fixed.options) {
      if (entry.textContent === before) this.fixed.value = entry.value;
    }
  }

  boxes() {
    const configuration = this.shown();
    const [kind, text] = this.fixed.value.split(":");
    const index = Number(text);
    if (kind === "pattern") {
      return configuration.algorithms.map((name, j) => ({ name, values: configuration.values[index][j] }));
    }
    return configuration.patterns.map((name, i) => ({ name, values: configuration.values[i][index] }));
  }

  draw() {
    const { unit } = this.shown();
    BoxPlot.draw(this.place, this.boxes(), {
      title: `last delay d\u0302 [${unit}]`, unit, isLog: this.log.checked,
      colour: this.fixed.value.startsWith("pattern") ? "var(--algorithms)" : "var(--patterns)",
    });
  }
}

addEventListener("hashchange", openLinked);
openLinked();
for (const button of document.querySelectorAll("button[data-open]")) button.addEventListener("click", openAll);
const source = document.getElementById("plot-data");
if (source) new Distribution(JSON.parse(source.textContent));
