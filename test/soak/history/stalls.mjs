/** When event loops stood still: nobody can be on time meanwhile. */
export class Stalls {
  #byProcess = new Map();

  see({ e, p, from, t }) {
    if (e !== 'stall') return;
    let stalls = this.#byProcess.get(p);
    if (stalls === undefined) this.#byProcess.set(p, (stalls = []));
    stalls.push({ from, to: t });
  }

  /** ms that the process stood still between two times. */
  during(process, from, to) {
    const stalls = this.#byProcess.get(process) ?? [];
    let total = 0;
    // Binary search for the first that ends after `from`: there are many, and they are in order.
    let low = 0;
    for (let high = stalls.length; low < high;) {
      const middle = (low + high) >> 1;
      if (stalls[middle].to < from) low = middle + 1;
      else high = middle;
    }
    for (let index = low; index < stalls.length && stalls[index].from < to; index++) {
      total += Math.min(stalls[index].to, to) - Math.max(stalls[index].from, from);
    }
    return total;
  }
}
