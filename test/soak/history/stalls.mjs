/** When nobody could be on time: event loops stood still, or the servers could serve nobody. */
export class Stalls {
  #byProcess = new Map();
  /** These may overlap, and are few. */
  #away = [];

  see({ e, p, from, t }) {
    if (e === 'away') this.#away.push({ from, to: t });
    if (e !== 'stall') return;
    let stalls = this.#byProcess.get(p);
    if (stalls === undefined) this.#byProcess.set(p, (stalls = []));
    stalls.push({ from, to: t });
  }

  /** ms that the process stood still between two times. */
  during(process, from, to) {
    return length(partsWithin(this.#byProcess.get(process) ?? [], from, to));
  }

  /** ms between two times in which one of the processes stood still, or the servers could serve nobody. */
  duringAny(processes, from, to) {
    const parts = [...new Set(processes)]
      .flatMap((process) => partsWithin(this.#byProcess.get(process) ?? [], from, to))
      .concat(...this.#away.map((away) => partsWithin([away], from, to)))
      .sort((one, other) => one.from - other.from);
    // What happened at the same time counts once.
    let end = from;
    const apart = parts.map((part) => {
      const begin = Math.max(part.from, end);
      end = Math.max(end, part.to);
      return { from: begin, to: end };
    });
    return length(apart);
  }
}

/** @param {readonly { from: number, to: number }[]} times in order, none of which overlap */
function partsWithin(times, from, to) {
  // Binary search for the first that ends after `from`: there are many.
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
