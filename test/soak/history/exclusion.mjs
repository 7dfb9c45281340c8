/** Checks that no two holds of one key are certain at the same time. */
export function checkExclusion(holdsOfKey, findings) {
  let longest;
  for (const hold of holdsOfKey) {
    if (longest !== undefined && hold.from < longest.end) {
      const ms = (Math.min(longest.end, hold.end) - hold.from).toFixed(2);
      findings.add('overlap', hold.from, `${hold.key}: ${longest} and ${hold} were both held for ${ms} ms`);
    }
    if (longest === undefined || hold.end > longest.end) longest = hold;
  }
}

/**
 * Checks that a later hold has a larger token. Later means: it became certain after an earlier one did. Holds that were
 * never certain are left out. A process that was stopped between grant and observation may observe its hold only after a
 * newer holder has come and gone; then its lease has expired by its own clock too, and the observation says so.
 */
export function checkTokens(holdsOfKey, findings) {
  const seen = new Map();
  let largest;
  for (const hold of holdsOfKey) {
    const twin = seen.get(hold.token);
    if (twin !== undefined) findings.add('token-repeated', hold.from, `${hold.key}: ${twin} and ${hold}`);
    seen.set(hold.token, hold);
    if (largest !== undefined && twin === undefined && hold.token < largest.token) {
      findings.add('token-order', hold.from, `${hold.key}: ${hold} came after ${largest}`);
    }
    if (largest === undefined || hold.token > largest.token) largest = hold;
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
