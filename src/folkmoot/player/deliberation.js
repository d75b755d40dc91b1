// A run in the data (form.py says how), unfolded into frames: first votes, every question, the end.
"use strict";
const Deliberation = (() => {
  const numbers = (text) => Int32Array.from(text, (letter) => letter.codePointAt(0) - 40);

  // Everything about one moot that does not depend on the input.
  function moot(coded) {
    const honest = numbers(coded.honest);
    const seats = [...honest.keys()];
    const lies = new Map(Object.entries(coded.malicious).map(([who, how]) => [Number(who), how]));
    seats.sort((a, b) => lies.has(a) - lies.has(b) || a - b);
    return { ...coded, honest, lies, seats, unfolded: new Map() };
  }

  function of(moot, i) {
    if (!moot.unfolded.has(i)) moot.unfolded.set(i, unfold(moot, moot.runs[i]));
    return moot.unfolded.get(i);
  }

  function unfold(moot, coded) {
    const first = numbers(coded.first);
    const [sizes, alphas, askers, jumps, gaps, said, after] = ["sizes", "alphas", "askers", "rounds", "peers", "answers", "after"]
      .map((name) => numbers(coded[name]));
    const voters = [...moot.honest.keys()].filter((i) => moot.honest[i] && !(coded.absent || []).includes(i));
    const frames = [{ kind: "first", round: 0, held: first }];
    let held = first;
    let [round, at, later] = [0, 0, []];
    const applyRound = () => {  // in lockstep what a round changes holds from its end on
      if (!later.length) return;
      held = held.slice();
      for (const [who, colour] of later) held[who] = colour;
      later = [];
    };
    askers.forEach((asker, s) => {
      round += jumps[s];
      if (jumps[s]) applyRound();
      const [peers, answers] = [[], []];
      for (let j = 0, peer = 0; j < sizes[s]; j++, at++) {
        peer += gaps[at];
        peers.push(peer);
        answers.push(said[at] ? said[at] - 2 : moot.lies.has(peer) ? first[peer] : held[peer]);
      }
      const before = held[asker];
      const now = after[s] ? after[s] - 2 : before;
      if (now !== before && moot.lockstep) later.push([asker, now]);
      else if (now !== before) (held = held.slice())[asker] = now;
      const tally = coded.tallies ? coded.tallies[s] : counted(answers);
      frames.push({ kind: "step", round, asker, peers, answers, before, now, held, tally, alpha: alphas[s] });
    });
    applyRound();
    const end = coded.end ? numbers(coded.end) : held;
    frames.push({ kind: "over", round, held: end });

    // A column for the first votes, one per round, one if the end is not what the turns led to.
    const columns = [];
    const starts = [];
    frames.forEach((frame, f) => {
      const column = frame.kind === "first" ? 0 : frame.kind === "step" ? frame.round : round + (coded.end ? 1 : 0);
      frame.column = column;
      columns[column] = frame.held;
      if (starts[column] === undefined) starts[column] = f;
    });
    for (let c = 1; c < columns.length; c++) if (!columns[c]) columns[c] = columns[c - 1]; // a round in which nobody asked
    for (let c = columns.length - 2; c > 0; c--) if (starts[c] === undefined) starts[c] = starts[c + 1];
    const names = columns.map((_, c) => (c === 0 ? "first" : c <= round ? String(c) : "end"));
    const counts = columns.map((each) => {
      const count = {};
      for (const i of voters) if (each[i] >= 0) count[each[i]] = (count[each[i]] || 0) + 1;
      return count;
    });
    const last = counts[counts.length - 1];
    const all = {};
    counts.forEach((count) => Object.entries(count).forEach(([c, many]) => (all[c] = (all[c] || 0) + many)));
    const order = Object.keys(all).map(Number).sort((a, b) => (last[b] || 0) - (last[a] || 0) || all[b] - all[a] || a - b);
    for (const count of counts) for (const colour of order) count[colour] = count[colour] || 0;
    const changes = frames.map((frame, f) => ({ ...frame, f })).filter((each) => each.kind === "step" && each.now !== each.before);
    return { ...coded, first, frames, voters, columns, starts, names, counts, order, changes, rounds: round + coded.quiet };
  }

  function counted(answers) {
    const tally = {};
    answers.forEach((colour) => { if (colour >= 0) tally[colour] = (tally[colour] || 0) + 1; });
    return tally;
  }

  return { moot, of };
})();
