const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 };
let done = false;

/** Lets whoever cleans up at 'exit' do so also when the process is interrupted. */
export function exitOnSignals() {
  if (done) return;
  done = true;
  // The shell expects this code for a command that was interrupted.
  for (const [signal, number] of Object.entries(SIGNALS))
    process.once(signal, () => process.exit(128 + number));
}
