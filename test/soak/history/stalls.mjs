/** Times in which no reply can be expected: event loops were blocked, or the servers were unavailable. */
export class Stalls {
  #byProcess = new Map();
  /** Few, and they may overlap. */
  #away = [];

  constructor(rules) {
    this.rules = rules;
  }

  see({ e, p, from, t }) {
    // A new leader starts the leases of dead processes again, so the time that had passed of them does not count.
    if (e === 'away') this.#away.push({ from: from - this.rules.afterCrash, to: t });
    if (e !== 'stall') return;
    let stalls = this.#byProcess.get(p);
    if (stalls === undefined) this.#byProcess.set(p, (stalls = []));
    stalls.push({ from, to: t });
  }

  /** How long the process was stalled between two times, ms. */
  during(process, from, to) {
    return length(partsWithin(this.#byProcess.get(process) ?? [], from, to));
  }

  /** How long one of the processes was stalled or the servers were unavailable between two times, ms. */
  duringAny(processes, from, to) {
    const parts = [...new Set(processes)]
      .flatMap((process) => partsWithin(this.#byProcess.get(process) ?? [], from, to))
      .concat(...this.#away.map((away) => partsWithin([away], from, to)))
      .sort((one, other) => one.from - other.from);
    // Overlapping times count once.
    let end = from;
    const apart = parts.map((part) => {
      const begin = Math.max(part.from, end);
      end = Math.max(end, part.to);
      return { from: begin, to: end };
    });
    return length(apart);
  }
}

/** @param {readonly { from: number, to: number }[]} times in order, without overlaps */
function partsWithin(times, from, to) {
  // Binary search for the first that ends after `from`, since there are many.
  let low = 0;
  for (let high = times.length; low < high;) {
    const middle = (low + high) >> 1;
    if (times[middle].to < from) low = middle + 1;
    else high = middle;
  }
  const parts = [];
  for (let index = low; index < times.length && times[index].from < to; index++) {
    parts.push({ from: Math.max(times[index].from, from), to: Math.min(times[index].to, to) });
  }
  return parts;
}

const length = (parts) => parts.reduce((total, { from, to }) => total + to - from, 0);
