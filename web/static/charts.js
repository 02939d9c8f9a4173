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
      ...Object.fromEntries(["xaxis", "yaxis", ...Object.keys(more).filter((key) => /^[xy]axis\d$/.test(key))]
        .map((key) => [key, { ...axis, ...more[key] }])),
    };
  }

  const escaped = (text) => String(text).replace(/[<>&]/g, (one) => ({ "<": "&lt;", ">": "&gt;", "&": "&amp;" })[one]);

  const shortened = (text, most) => {
    const characters = [...text];
    return characters.length <= most ? text : `…${characters.slice(1 - most).join("")}`;
  };
  const moment = (seconds) => new Date(seconds * 1000).toLocaleString("sv");

  // Puts the periods of a row, in order of their beginnings, into lanes without overlaps. A period's `lanes` is the number of
  // lanes while periods overlap each other, and `lane` is its place among them.
  function inLanes(periods, now) {
    let group = [], free = [];
    const close = () => group.forEach((one) => { one.lanes = free.length; });
    for (const one of periods) {
      if (free.every((until) => until <= one.from)) { close(); group = []; free = []; }
      const found = free.findIndex((until) => until <= one.from);
      one.lane = found < 0 ? free.length : found;
      free[one.lane] = one.until ?? now;
      group.push(one);
    }
    close();
  }

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
    pool(found) {
      const rows = found.forwarders, [since, until] = [found.since, found.until];
      const shades = ["apply", "observe", "defer", "holdout"].map(colour);
      const shadeOf = new Map();
      const many = rows.length > 24;
      const pixels = (Math.min(window.innerWidth, 1200) - 200) / (until - since);  // in a second, roughly
      const bars = (name, more) => ({ type: "bar", orientation: "h", name, base: [], x: [], y: [], width: [], text: [], hovertext: [],
        hovertemplate: "%{hovertext}<extra></extra>", textposition: "inside", insidetextanchor: "middle", textangle: 0,
        insidetextfont: { color: colour("ink") }, cliponaxis: true, ...more });
      const add = (trace, place, width, one, words) => {
        const [from, to] = [Math.max(one.from, since), Math.min(one.until ?? until, until)];
        trace.base.push(new Date(from * 1000)); trace.x.push((to - from) * 1000); trace.y.push(place); trace.width.push(width);
        trace.hovertext.push(`${escaped(words)}<br>${moment(one.from)} to ${one.until === null ? "now" : moment(one.until)}`);
        return (to - from) * pixels;
      };
      const served = bars("job", { showlegend: false, marker: { color: [], line: { color: [], width: 1 } } });
      const failed = bars("failed", { marker: { color: `${colour("bad")}30`, line: { color: colour("bad"), width: 1 },
        pattern: { shape: "/", fgcolor: colour("bad"), size: 6 } } });
      rows.forEach((row, place) => {
        row.failures.forEach((one) => add(failed, place, 0.9, one, `${row.address} failed: ${one.reason}`));
        inLanes(row.jobs, until);
        for (const one of row.jobs) {
          if (!shadeOf.has(one.job)) shadeOf.set(one.job, shades[shadeOf.size % shades.length]);
          const words = `job ${one.job} on ${row.address}${one.shared ? " (shared)" : ""}`;
          const width = 0.8 / one.lanes;
          const room = add(served, place - 0.4 + (one.lane + 0.5) * width, width, one, words);
          served.text.push(one.lanes === 1 && !many && room > 9 * String(one.job).length ? String(one.job) : "");
          served.marker.color.push(`${shadeOf.get(one.job)}40`); served.marker.line.color.push(shadeOf.get(one.job));
        }
      });
      const moments = found.counts.map((one) => new Date(one.at * 1000));
      const counted = [["with forwarders", "forwarders", "apply"], ["direct access", "direct", "none"]].map(([name, key, shade]) => ({
        type: "scatter", mode: "lines", name, x: moments, y: found.counts.map((one) => one[key]), yaxis: "y2",
        line: { color: colour(shade), shape: "hv", width: 2 } }));
      const high = rows.length * (many ? 14 : 28) + 30, all = high + 120;
      return [[...counted, served, ...(failed.x.length ? [failed] : [])], layout({
        height: all + 90, margin: { l: 50, r: 15, t: 40, b: 40 }, barmode: "overlay",
        legend: { orientation: "h", y: 1, yanchor: "bottom", x: 0 },
        xaxis: { type: "date", range: [new Date(since * 1000), new Date(until * 1000)], anchor: "y",
          ...(narrow() ? { nticks: 3, tickangle: 0 } : {}) },
        yaxis: { domain: [0, high / all], range: [rows.length - 0.4, -0.6], showgrid: false, zeroline: false,
          tickvals: rows.map((_, place) => place), ticktext: rows.map((row) => escaped(shortened(row.address, narrow() ? 16 : 40))),
          ...(many ? { tickfont: { size: 10 } } : {}) },
        yaxis2: { domain: [(high + 20) / all, 1], title: { text: "jobs" }, rangemode: "tozero", tickformat: "d", nticks: 4 },
      })];
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
    if (options.height) element.style.height = `${options.height}px`;
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
