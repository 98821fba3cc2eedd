/* Browsers start no workers from file:// addresses, so the search runs in a hidden frame there. */
(function () {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.waiting = [];
      const page = `<script>
        window.postMessage = data => parent.dispatchEvent(
          new CustomEvent("haystat-search", { detail: { frame: window, data } }));
        window.importScripts = (...urls) => urls.reduce(
          (before, url) => before.then(() => new Promise(done => {
            const script = document.createElement("script");
            script.src = url; script.onload = script.onerror = done;
            document.head.append(script);
          })), Promise.resolve());
      <\/script><script src="${url}"><\/script>`;
      frame.srcdoc = page;
      document.body.append(frame);
      frame.addEventListener("load", () => {
        this.ready = frame.contentWindow;
        this.waiting.forEach(data => this.postMessage(data));
      });
      window.addEventListener("haystat-search", event => {
        if (event.detail.frame !== frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.detail.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.frame = frame;
    }
    postMessage(data) {
      if (!this.ready) { this.waiting.push(data); return; }
      this.ready.dispatchEvent(new this.ready.MessageEvent("message", { data }));
    }
    terminate() { this.frame.remove(); }
  };
})();
