// SPDX-License-Identifier: Apache-2.0
// Updates a campaign's page while the campaign runs.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const live = document.getElementById("live");
  const begun = live.dataset.state;
  if (begun === "complete" || begun === "failed") return;
  const source = new EventSource(live.dataset.events);

  // The server renders the results and buttons, so reload the page once when the campaign ends.
  const again = () => { source.close(); window.location.reload(); };

  const put = (id, text) => {
    const element = document.getElementById(id);
    if (element.textContent !== text) element.textContent = text;
  };

  source.addEventListener("progress", (event) => {
    const news = JSON.parse(event.data);
    if (news.state !== begun) { again(); return; }
    put("last-words", news.last_words);
    put("trials", String(news.trials));
    put("node-hours", news.node_hours.toFixed(2));
    let unknown = false;
    for (const problem of news.problems) {
      if (!problem.trajectory.length) continue;
      const section = [...live.children].find((one) => one.dataset.problem === problem.problem);
      if (section) window.Reprise.redraw(section.querySelector("[data-chart]"), problem);
      else unknown = true;
    }
    live.dataset.seen = String(news.trials);
    if (unknown) again();
  });
  source.addEventListener("end", again);
  window.addEventListener("pagehide", () => source.close());
});
