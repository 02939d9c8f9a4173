// SPDX-License-Identifier: Apache-2.0
// Checks that run within a page; each check returns a list of complaints.
(() => {
  const name = (element) => `${element.tagName.toLowerCase()}${element.id ? "#" + element.id : ""} ${JSON.stringify((element.textContent || element.value || "").trim().slice(0, 30))}`;
  const seen = (element) => element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) && element.getClientRects().length > 0;

  function rgba(text) {
    const found = text.match(/[\d.]+/g);
    return found ? [...found.slice(0, 3).map(Number), found.length > 3 ? Number(found[3]) : 1] : [0, 0, 0, 0];
  }

  function luminance([r, g, b]) {
    const part = (value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  }

  function background(element) {
    for (let one = element; one; one = one.parentElement) {
      const colour = rgba(getComputedStyle(one).backgroundColor);
      if (colour[3] === 1 && !(one instanceof SVGElement)) return colour;
    }
    return [255, 255, 255, 1];
  }

  // Text with too little contrast by WCAG 2.2, 1.4.3: less than 4.5, or less than 3 for large text.
  function contrast() {
    const found = [];
    for (const element of document.querySelectorAll("body *")) {
      if (![...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim()) || !seen(element)) continue;
      const style = getComputedStyle(element);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
      const ink = rgba(element instanceof SVGElement ? style.fill : style.color);
      const [light, dark] = [luminance(ink), luminance(background(element))].sort((a, b) => b - a);
      const ratio = (light + 0.05) / (dark + 0.05);
      if (ink[3] && ratio < (large ? 3 : 4.5)) found.push(`${name(element)}: ${ratio.toFixed(2)}`);
    }
    return found;
  }

  const controls = () => [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
    .filter((one) => seen(one) && !one.disabled);

  // Controls without a name for screen readers.
  function unnamed() {
    return controls().filter((one) => !(one.textContent.trim() || one.getAttribute("aria-label") || (one.labels && one.labels.length)))
      .map(name);
  }

  window.checks = { contrast, unnamed, controls: () => controls().map((one, place) => { one.dataset.place = place; return name(one); }),
    focused: () => (document.activeElement && document.activeElement.dataset.place) || null };
})();
