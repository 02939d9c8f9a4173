// SPDX-License-Identifier: Apache-2.0
// Search in pages that are opened as files: browsers refuse to start a Worker there. This class runs the worker's script
// in a hidden frame instead. mkdocs' plugin `offline` uses any script with this name in place of one from the Internet.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.reply = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = document.createElement("script");
      script.src = new URL(url, location);
      this.frame.srcdoc =
        "<!doctype html><script>window.postMessage = (data) => frameElement.reply(data)</script>" + script.outerHTML;
      this.ready = new Promise((resolve) => this.frame.addEventListener("load", resolve, { once: true }));
      document.body.append(this.frame);
    }

    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
