// Browsers start no worker for a page that was opened as a file. There, this runs the search in a hidden frame
// instead: one script, which takes messages and posts answers, as the site's search does. Messages are copied, as a
// worker's are: both sides change what they have. Served pages keep Worker.
if (location.protocol === "file:") {
  window.Worker = class {
    constructor(url) {
      this.onmessage = this.onerror = this.onmessageerror = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      (document.body || document.documentElement).append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.answer(data);
      const script = inside.document.createElement("script");
      script.src = new URL(url, location.href);
      script.onload = () => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach((data) => this.postMessage(data));
      };
      script.onerror = (event) => this.onerror?.(event);
      inside.document.body.append(script);
    }

    postMessage(message) {
      const data = structuredClone(message);
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.frame?.contentWindow.onmessage?.({ data }), 0);
    }

    answer(message) {
      const data = structuredClone(message);
      setTimeout(() => this.frame && this.onmessage?.({ data }), 0);
    }

    terminate() {
      this.frame?.remove();
      this.frame = null;
    }
  };
}
