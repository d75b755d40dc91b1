// The page of a node: asks for everything once, follows the events, draws what has changed.
"use strict";
const Page = (() => {
  const { bare, plain } = Parts;
  const { many, short } = Words;
  const $ = (id) => document.getElementById(id);
  const LISTED = 40; // motions
  const LOOKED = 1000; // milliseconds between two looks at what events do not tell of a motion under way

  const state = { access: null, moot: null, motions: [], inVain: [], damaged: [], asked: null, count: 0, live: new Map(), accusations: [], records: {}, chosen: null, under: null, pinned: false, heard: 0, there: false };
  let link = null;
  let due = false;
  let timer = 0;

  // ---- drawing: at most once a frame ---------------------------------------------------------

  function changed() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      if (!state.moot || !state.access) return;
      $("one").hidden = false;
      Moot.draw(state);
      Motion.draw(state);
      Ask.draw(state);
      Rosters.draw(state);
    });
  }

  state.tell = (words, bad = false) => {
    $("news").textContent = bare(words);
    $("news").classList.toggle("bad", bad);
  };
  state.failed = (error) => {
    if (error instanceof Link.Refusal && error.status === 401) return ask(error.message);
    state.tell(error instanceof Link.Refusal ? error.message : "The node did not answer.", true);
  };
  // Somebody who looks at a motion that is over is left alone; else what is new is shown.
  state.choose = (name) => {
    state.chosen = name;
    state.pinned = name !== null && !state.live.has(name);
    changed();
  };
  state.unpin = () => {
    state.chosen = state.under || state.motions.at(-1).motion;
    state.pinned = false;
    changed();
  };
  state.follow = async (name) => {
    await motion(name);
    state.choose(name);
    state.pinned = false; // and of what comes next
  };
  state.recorded = (records) => { state.records = { ...state.records, ...records }; changed(); };

  // ---- what is asked for ---------------------------------------------------------------------

  function keep(found) {
    const place = state.motions.findIndex((each) => each.motion === found.motion);
    if (place >= 0) state.motions[place] = found;
    else {
      state.motions.push(found);
      state.motions.sort((a, b) => a.created - b.created);
      state.count = Math.max(state.count, state.motions.length);
    }
    if (!found.live) {
      state.live.delete(found.motion);
      if (state.under === found.motion) state.under = [...state.live.keys()].pop() || null;
      return;
    }
    const { live } = found;
    progress({ motion: found.motion, ...live, committed: live.committed.length, closed: live.closed.length }).detail = live;
  }

  // A motion that is new here: what its rounds were before somebody looked.
  function begun(told) {
    const live = { series: [], detail: null, step: 0 };
    if (told.round > 1)
      Link.get(`/v2/motions/${told.motion}/rounds`).then(({ rounds }) => {
        rounds.forEach(({ round, shares }) => { if (!live.series[round - 1] && Object.keys(shares).length) live.series[round - 1] = shares; });
        changed();
      }).catch(() => {});
    return live;
  }

  function progress(told) {
    const known = state.live.get(told.motion) || begun(told);
    const live = Object.assign(known, told, { at: performance.now(), detail: known.detail });
    if (Object.keys(told.shares).length && told.round > 0) {
      while (live.series.length < told.round - 1) live.series.push(null);
      live.series[told.round - 1] = told.shares;
    }
    state.live.set(told.motion, live);
    state.under = told.motion;
    return live;
  }

  state.lookAtMotions = async () => {
    state.inVain = (await Link.get(`/v2/motions?last=1`)).invitations;
    changed();
  };

  async function motion(name) {
    keep(await Link.get(`/v2/motions/${name}`));
    changed();
  }

  async function refresh() {
    const [access, listed, evidence, records] = await Promise.all(
      ["/v2/access", `/v2/motions?last=${LISTED}`, "/v2/evidence", "/v2/records"].map((path) => Link.get(path)));
    Object.assign(state, { access, motions: [], inVain: listed.invitations, damaged: listed.damaged, count: listed.count, accusations: evidence.evidence, records: records.records });
    state.live.clear();
    state.under = null;
    listed.motions.forEach(keep);
    state.count = listed.count;
    if (!state.motions.some((each) => each.motion === state.chosen)) state.chosen = state.motions.length ? state.motions.at(-1).motion : null;
    changed();
  }

  // ---- what happens --------------------------------------------------------------------------

  const HEARD = {
    moot(data) {
      const known = new Set(state.accusations.filter((each) => each.roster).map((each) => each.participant));
      if (state.access && data.accused.some((name) => !known.has(name)))
        Link.get("/v2/evidence").then(({ evidence }) => { state.accusations = evidence; changed(); }).catch(() => {});
      state.moot = data;
      state.heard = Date.now();
    },
    opened(data) {
      motion(data.motion).catch(state.failed);
      if (!state.pinned && !state.live.size) state.chosen = data.motion;
      state.tell(`${plain(data.asker)} puts ${many(data.inputs, "input")} to the moot.`);
    },
    progress(data) {
      const first = !state.live.has(data.motion);
      progress(data);
      if (first) motion(data.motion).catch(state.failed);
    },
    silent(data) { state.tell(`${plain(data.participant)} is ${data.state === "benched" ? "benched: it does not answer" : "away"}.`, true); },
    accused(data) {
      state.accusations.push(data);
      state.tell(`${plain(data.participant)} is accused: ${plain(data.what)}.`, true);
      motion(data.motion).catch(state.failed);
    },
    over(data) {
      motion(data.motion).catch(state.failed);
      state.tell(`Motion ${short(data.motion)} is over: ${data.inputs - data.undecided} of ${many(data.inputs, "input")} decided.`);
    },
  };

  // The stream says what happens; what only passes (latency, last seen, whom it asks) is looked at now and then.
  let looks = 0;
  function lookAgain() {
    if (document.visibilityState !== "visible" || !state.moot || !state.there) return;
    if (state.under) motion(state.under).catch(() => {});
    if (looks++ % 5 === 0) Link.get("/v2/status").then((told) => { HEARD.moot(told); changed(); }).catch(() => {});
    changed();
  }

  function status(words, kind) {
    $("link").className = `link ${kind}`;
    $("link").textContent = bare(words);
  }

  function begin() {
    end();
    $("door").hidden = true;
    status("looking for the node…", "");
    Object.assign(state, { access: null, moot: null, motions: [], live: new Map(), accusations: [], records: {}, chosen: null, under: null, asked: null, pinned: false });
    Motion.forget();
    Ask.forget();
    timer = setInterval(lookAgain, LOOKED);
    link = Link.follow("/v2/events", {
      there() {
        state.there = true;
        status("live", "there");
        refresh().catch(state.failed);
      },
      gone(wait, why) {
        state.there = false;
        status(`the node is gone${why ? ` (${why})` : ""}; trying again in ${wait} s`, "gone");
      },
      refused(error) { error.status === 401 ? ask(error.message) : state.failed(error); },
      event({ kind, data }) {
        if (HEARD[kind]) HEARD[kind](data);
        changed();
      },
    });
  }
  $("follow").addEventListener("click", () => state.unpin());

  function end() {
    if (link) link.stop();
    link = null;
    clearInterval(timer);
  }

  // ---- who comes in --------------------------------------------------------------------------

  function ask(why = "") {
    end();
    $("one").hidden = true;
    $("door").hidden = false;
    $("door-why").textContent = bare(why);
    status("", "");
    $("token").value = "";
    $("token").focus();
  }

  $("door").addEventListener("submit", (event) => {
    event.preventDefault();
    const said = $("token").value.trim();
    const found = /(?:#token=|^)([0-9a-f]{48})$/.exec(said); // the whole address will do, too
    if (!found) return ask("A token has 48 digits and letters a to f: copy all of it.");
    Link.show(found[1]);
    begin();
  });
  addEventListener("hashchange", () => { if (Link.fromAddress()) begin(); });
  for (const kind of ["dragover", "drop"]) addEventListener(kind, (event) => event.preventDefault()); // a file dropped beside is not opened

  $("about").textContent = "";
  if (Link.fromAddress()) begin();
  else ask();
  return { state };
})();
