/**
 * A lock that is wanted is not left lying: from the end of one hold to the begin of the next, who has waited all along.
 * Holds of which nothing is known (a process died between grant and first look) explain longer gaps with faults.
 */
export function checkIdleness(holdsOfKey, stalls, rules, findings) {
  const gaps = [];
  let freeAt = -Infinity;
  let last;
  for (const hold of holdsOfKey) {
    if (hold.queuedSince !== undefined && last !== undefined) {
      const from = Math.max(freeAt, hold.queuedSince);
      const still =
        stalls.during(hold.process, from, hold.from) + stalls.during(last.process, from, hold.from);
      const gap = hold.from - from - still;
      if (gap > 0) gaps.push(gap);
      if (gap > rules.idleness) {
        findings.add(
          'left-lying',
          hold.from,
          `${hold.key}: ${hold} waited ${gap.toFixed(0)} ms for a free lock`,
        );
      }
    }
    const end = hold.outcome === 'released' || hold.outcome === 'returned' ? hold.answeredAt : hold.end;
    if (end >= freeAt) [freeAt, last] = [end, hold];
  }
  return gaps;
}
