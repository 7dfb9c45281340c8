// The clock and the timers of the world that is explored at the moment, in place of those of the process.

const runImmediate = globalThis.setImmediate;
/** The world whose timers are set now. */
let current;

export function enter(world) {
  current = world;
}

/** The clocks and timers of this process belong to the explored worlds from now on. */
export function takeOverTimers() {
  globalThis.setTimeout = (callback, ms) => {
    const timer = { callback, dueAt: current.now + ms, unref: () => timer };
    current.timers.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => current.timers.delete(timer);
  globalThis.setImmediate = (callback) => void Promise.resolve().then(callback);
  Math.random = () => 0.5;
}

/** Promises go on until they wait for an event. */
export const settled = () => new Promise((resolve) => runImmediate(resolve));
