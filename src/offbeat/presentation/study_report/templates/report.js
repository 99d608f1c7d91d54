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

// Plotly interprets some HTML in labels: escape names.
function plain(text) {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
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
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.draw());
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
    const boxes = this.boxes();
    const configuration = this.shown();
    const style = getComputedStyle(document.body);
    const root = getComputedStyle(document.documentElement);
    const line = root.getPropertyValue("--line");
    const colour = root.getPropertyValue(this.fixed.value.startsWith("pattern") ? "--algorithms" : "--patterns");
    const isWide = boxes.length > 12;
    this.place.style.minWidth = `${Math.max(300, 90 + boxes.length * (isWide ? 34 : 60))}px`;
    const traces = boxes.map((box) => ({
      type: "box", name: plain(box.name), y: box.values, boxpoints: box.values.length > 5 ? "all" : false,
      jitter: 0.5, pointpos: 0, marker: { color: colour, size: 3, opacity: 0.45 }, line: { width: 1.5 },
      fillcolor: "rgba(0,0,0,0)", hoverinfo: "y+name",
    }));
    const layout = {
      showlegend: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      modebar: { bgcolor: "rgba(0,0,0,0)", color: style.color },
      font: { family: style.fontFamily, color: style.color, size: 13 },
      margin: { l: 60, r: 10, t: 34, b: 40 },
      xaxis: { tickangle: isWide ? -90 : "auto", automargin: true, gridcolor: line },
      yaxis: {
        title: { text: `last delay d\u0302 [${configuration.unit}]` }, type: this.log.checked ? "log" : "linear",
        rangemode: "tozero", gridcolor: line, zerolinecolor: line, automargin: true,
      },
    };
    const config = {
      responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    };
    Plotly.react(this.place, traces, layout, config);
  }
}

addEventListener("hashchange", openLinked);
openLinked();
for (const button of document.querySelectorAll("button[data-open]")) button.addEventListener("click", openAll);
const source = document.getElementById("plot-data");
if (source) new Distribution(JSON.parse(source.textContent));
