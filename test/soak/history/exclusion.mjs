/** Checks that no two holds of one key that exclude each other are certain at the same time, nor too many permits. */
export function checkExclusion(holdsOfKey, findings) {
  let held = [];
  for (const hold of holdsOfKey) {
    held = held.filter(({ end }) => end > hold.from);
    const other = inTheWayOf(hold, held);
    if (other !== undefined) {
      const ms = (Math.min(other.end, hold.end) - hold.from).toFixed(2);
      findings.add('overlap', hold.from, `${hold.key}: ${other} and ${hold} were both held for ${ms} ms`);
    }
    held.push(hold);
  }
}

/** The hold that lasts longest of those beside which this one must not begin. */
function inTheWayOf({ kind, permits, limit }, held) {
  const used = held.reduce((sum, other) => sum + other.permits, 0);
  const others = kind === 'reader' ? held.filter((other) => other.kind !== 'reader') : held;
  if (others.length === 0 || (kind === 'permits' && used + permits <= limit)) return undefined;
  return others.reduce((longest, other) => (other.end > longest.end ? other : longest));
}

/**
 * Checks that a later hold has a larger token. Later means: it became certain after an earlier one did. Holds that were
 * never certain are left out. A process that was stopped between grant and observation may observe its hold only after a
 * newer holder has come and gone; then its lease has expired by its own clock too, and the observation says so. The tokens
 * of holders of permits have no order, and so have those of readers between two writers.
 */
export function checkTokens(holdsOfKey, findings) {
  const seen = new Map();
  let [largest, writer] = [];
  for (const hold of holdsOfKey) {
    if (hold.kind === 'permits') continue;
    const isReader = hold.kind === 'reader';
    const last = isReader ? writer : largest;
    const same = seen.get(hold.token);
    const twin = isReader && same?.kind === 'reader' ? undefined : same;
    if (twin !== undefined) findings.add('token-repeated', hold.from, `${hold.key}: ${twin} and ${hold}`);
    seen.set(hold.token, hold);
    if (last !== undefined && twin === undefined && hold.token < last.token) {
      findings.add('token-order', hold.from, `${hold.key}: ${hold} came after ${last}`);
    }
    if (largest === undefined || hold.token > largest.token) largest = hold;
    if (!isReader && (writer === undefined || hold.token > writer.token)) writer = hold;
  }
}

/**
 * Checks tokens after the server lost its data: a request that starts after all old leases have expired must get a token
 * larger than all earlier ones. (Before that, a process may still use up an old block of tokens.)
 */
export function checkTokensAfterRestarts(holds, restarts, longestLease, findings) {
  for (const { t, fence } of restarts) {
    for (const hold of holds) {
      if (hold.invokedAt > t + longestLease && hold.token <= fence) {
        findings.add(
          'token-fell-back',
          hold.from,
          `${hold.key}: ${hold} began after a restart before which tokens had reached ${fence}`,
        );
      }
    }
  }
}
