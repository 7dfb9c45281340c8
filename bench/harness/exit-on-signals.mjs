const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
let done = false;

/** Makes signals run the `exit` listeners, which clean up. */
export function exitOnSignals() {
  if (done) return;
  done = true;
  // The exit code that shells use for a command ended by a signal.
  for (const [signal, number] of Object.entries(SIGNALS))
    process.once(signal, () => process.exit(128 + number));
}
