// The link to the node: the token (in memory only), requests, downloads, and the stream of events, which comes back by itself.
"use strict";
const Link = (() => {
  const WAITS = [0.5, 1, 2, 4, 8, 15]; // seconds before it is tried again
  const SILENCE = 40; // seconds: a node that is there says something every 15
  let token = "";

  class Refusal extends Error {
    constructor(status, detail) { super(detail); this.status = status; }
  }

  // The token that the address brought, if any; the address forgets it.
  function fromAddress() {
    const found = /^#token=([0-9a-f]{48})$/.exec(location.hash);
    if (location.hash) history.replaceState(null, "", location.pathname);
    if (found) token = found[1];
    return Boolean(found);
  }

  async function why(response) {
    try {
      return String((await response.json()).detail);
    } catch {
      return `the answer was ${response.status}`;
    }
  }

  async function ask(path, options = {}) {
    const headers = { ...options.headers, Authorization: `Bearer ${token}` };
    const response = await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit", redirect: "error" });
    if (!response.ok) throw new Refusal(response.status, await why(response));
    return response;
  }

  const get = async (path) => (await ask(path)).json();
  const send = async (method, path, body, headers) => (await ask(path, { method, body, headers })).json();

  // A file of the node, saved by the browser: a link cannot show the token.
  async function download(path, name) {
    const blob = await (await ask(path)).blob();
    const address = URL.createObjectURL(blob);
    const link = Parts.html("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  // Events, one by one, of a text that comes in pieces.
  async function* events(body, heard) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        heard();
        text += value;
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
          const fields = {};
          for (const line of text.slice(0, end).split("\n")) {
            const cut = line.indexOf(": ");
            if (cut > 0) fields[line.slice(0, cut)] = line.slice(cut + 2);
          }
          if (fields.data) yield { kind: fields.event || "", id: fields.id || "", data: JSON.parse(fields.data) };
        }
      }
    } finally {
      reader.cancel().catch(() => {});
    }
  }

  // Follow a stream until ``stop``. tell: event(event), there(), gone(seconds until it is tried again, why), refused(error).
  function follow(path, tell) {
    let [last, tries, stopped, ending, wake] = ["", 0, false, null, null];

    async function once() {
      ending = new AbortController();
      let timer = 0;
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(() => ending.abort(), SILENCE * 1000);
      };
      try {
        heard();
        const headers = last ? { "Last-Event-ID": last } : {};
        const response = await ask(path, { headers, signal: ending.signal });
        tries = 0;
        if (!stopped) tell.there();
        for await (const event of events(response.body, heard)) {
          if (stopped) return;
          if (event.id) last = event.id;
          tell.event(event);
        }
      } finally {
        clearTimeout(timer);
      }
    }

    (async () => {
      while (!stopped) {
        let reason = "";
        try {
          await once();
        } catch (error) {
          if (stopped) return;
          if (error instanceof Refusal && error.status < 500 && error.status !== 429) return tell.refused(error);
          reason = error instanceof Refusal ? error.message : "";
        }
        if (stopped) return;
        const wait = WAITS[Math.min(tries++, WAITS.length - 1)];
        tell.gone(wait, reason);
        await new Promise((resolve) => { wake = resolve; setTimeout(resolve, wait * 1000); });
      }
    })();
    return {
      stop() { stopped = true; ending?.abort(); wake?.(); },
      now() { wake?.(); },
    };
  }

  return {
    Refusal, fromAddress, get, send, download, follow,
    show(shown) { token = shown; },
    get known() { return token !== ""; },
  };
})();
