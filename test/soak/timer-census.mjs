// Imported before all users of timers. Counts the active timers, including unreferenced ones,
// which Node does not list.
const live = new Set();
const { setTimeout: set, clearTimeout: clear, setInterval: repeat, clearInterval: stop } = globalThis;

globalThis.setTimeout = Object.assign((call, ms, ...args) => {
  const timer = set(() => {
    live.delete(timer);
    call(...args);
  }, ms);
  live.add(timer);
  return timer;
}, set);
globalThis.setInterval = (call, ms, ...args) => {
  const timer = repeat(call, ms, ...args);
  live.add(timer);
  return timer;
};
const forget = (end) => (timer) => {
  live.delete(timer);
  end(timer);
};
globalThis.clearTimeout = forget(clear);
globalThis.clearInterval = forget(stop);

/** The number of active timers. */
export function timersSet() {
  return live.size;
}
