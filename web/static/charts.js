// SPDX-License-Identifier: Apache-2.0
// Draws a chart from the JSON in each element with data-chart. Next to each chart is a table with its numbers.
"use strict";

(() => {
  const VERDICTS = ["apply", "holdout", "observe", "none", "defer"];
  const data = new WeakMap();

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const narrow = () => window.innerWidth < 600;

  function layout(more) {
    const axis = { gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("faint"), automargin: true };
    return {
      margin: { l: 50, r: 15, t: 10, b: 40 },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: colour("ink"), family: "system-ui, sans-serif", size: narrow() ? 11 : 13 },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0 },
      hovermode: "closest",
      ...more,
      xaxis: { ...axis, ...more.xaxis }, yaxis: { ...axis, ...more.yaxis },
    };
  }

  const escaped = (text) => String(text).replace(/[<>&]/g, (one) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[one]);

  const draw = {
    days(rows) {
      const known = VERDICTS.filter((verdict) => rows.some((row) => row.verdict === verdict));
      const traces = known.map((verdict) => {
        const mine = rows.filter((row) => row.verdict === verdict);
        return { type: "bar", name: verdict, x: mine.map((row) => row.day), y: mine.map((row) => row.decisions),
          marker: { color: colour(verdict) } };
      });
      return [traces, layout({ barmode: "stack", xaxis: { type: "date" }, yaxis: { title: { text: "decisions" } } })];
    },
    waterfall(found) {
      const trace = { type: "waterfall", orientation: "h", y: found.names.map(escaped), x: found.adds,
        measure: found.names.map(() => "relative"),
        increasing: { marker: { color: colour("apply") } }, decreasing: { marker: { color: colour("bad") } },
        connector: { line: { color: colour("faint"), width: 1 } } };
      return [[trace], layout({ yaxis: { autorange: "reversed" }, xaxis: { title: { text: found.unit } }, showlegend: false })];
    },
    runs(rows) {
      const kinds = [["given", false, "apply", "circle"], ["held out", true, "holdout", "diamond-open"]];
      const traces = kinds.map(([name, heldOut, shade, symbol]) => {
        const mine = rows.filter((row) => row.held_out === heldOut);
        return { type: "scatter", mode: "markers", name, x: mine.map((row) => new Date(row.at * 1000)),
          y: mine.map((row) => row.elapsed_s), marker: { color: colour(shade), symbol } };
      });
      return [traces, layout({ yaxis: { title: { text: "run time, s" }, rangemode: "tozero" } })];
    },
    trajectory(found) {
      const trials = found.trajectory.map((one, place) => ({ ...one, place: place + 1 }));
      const kinds = [
        ["default", (one) => one.role.endsWith("default"), "none", "square"],
        ["search", (one) => one.role === "search" && !one.bound, "observe", "circle"],
        ["stopped early: at least", (one) => one.bound, "holdout", "triangle-up"],
        ["winner", (one) => one.role === "final-tuned", "apply", "diamond"],
      ];
      const traces = kinds.map(([name, mine, shade, symbol]) => {
        const points = trials.filter((one) => one.value !== null && mine(one));
        return { type: "scatter", mode: "markers", name, x: points.map((one) => one.place), y: points.map((one) => one.value),
          marker: { color: colour(shade), symbol } };
      }).filter((trace) => trace.x.length);
      let best = Infinity;
      const steps = trials.filter((one) => one.role === "search" && one.state === "complete")
        .map((one) => { best = Math.min(best, one.value); return [one.place, best]; });
      traces.push({ type: "scatter", mode: "lines", name: "lowest so far", line: { color: colour("observe"), shape: "hv", width: 1 },
        x: steps.map((step) => step[0]), y: steps.map((step) => step[1]) });
      return [traces, layout({ xaxis: { title: { text: "trial" }, zeroline: false }, yaxis: { title: { text: `value, ${escaped(found.unit)}` } } })];
    },
  };

  function show(element) {
    const [traces, options] = draw[element.dataset.chart](data.get(element));
    window.Plotly.react(element, traces, options, { displayModeBar: false, responsive: true });
  }

  function begin(element) {
    const held = element.querySelector("script[type='application/json']");
    data.set(element, JSON.parse(held.textContent));
    held.remove();
    show(element);
  }

  const all = () => document.querySelectorAll("[data-chart]");
  document.addEventListener("DOMContentLoaded", () => {
    all().forEach(begin);
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => all().forEach(show));
  });

  window.Reprise = {
    redraw(element, found) {
      data.set(element, found);
      show(element);
    },
  };
})();
