// SPDX-License-Identifier: Apache-2.0
// Keeps a campaign's page as the campaign is.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const begun = live.dataset.state;
  if (begun === "complete" || begun === "failed") return;
  const source = new EventSource(live.dataset.events);

  // What a page shows beside, results and buttons, is the server's: it is asked again once.
  const again = () => { source.close(); window.location.reload(); };

  const put = (id, text) => {
    const element = document.getElementById(id);
    if (element.textContent !== text) element.textContent = text;
  };

  source.addEventListener("progress", (event) => {
    const told = JSON.parse(event.data);
    if (told.state !== begun) { again(); return; }
    put("last-words", told.last_words);
    put("trials", String(told.trials));
    put("node-hours", told.node_hours.toFixed(2));
    let unknown = false;
    for (const problem of told.problems) {
      if (!problem.trajectory.length) continue;
      const section = [...live.children].find((one) => one.dataset.problem === problem.problem);
      if (section) window.Reprise.redraw(section.querySelector("[data-chart]"), problem);
      else unknown = true;
    }
    live.dataset.seen = String(told.trials);
    if (unknown) again();
  });
  source.addEventListener("end", again);
  window.addEventListener("pagehide", () => source.close());
});
