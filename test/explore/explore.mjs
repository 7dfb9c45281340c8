import { World } from './world.mjs';

/**
 * Goes through every order of events up to a depth, and merges states that are equal. Each state is reached by replaying its
 * events, since a machine can't be copied.
 *
 * @param modules the built `KeyMachine` and `HandOverBudget`
 * @param rules see {@link World}
 * @param limits `depth`: events in a run at most; `transitions`: where to stop, by default never
 * @returns how much was explored, and the shortest run that breaks an invariant, if there is one
 */
export function explore(modules, rules, { depth, transitions: most = Infinity, drainEvery = 1 }) {
  const seen = new Set();
  let transitions = 0;
  let drained = 0;
  let level = [[]];
  seen.add(hashOf(new World(modules, rules).fingerprint));
  for (let at = 0; at < depth && level.length > 0; at++) {
    const next = [];
    for (const run of level) {
      let world = replay(modules, rules, run);
      const { events } = world;
      for (const event of events) {
        world ??= replay(modules, rules, run);
        const violation = attempt(() => world.apply(event), world);
        transitions += 1;
        const longer = [...run, event];
        if (violation !== undefined)
          return { transitions, states: seen.size, drained, run: longer, violation };
        const state = hashOf(world.fingerprint);
        if (!seen.has(state)) {
          seen.add(state);
          next.push(longer);
          // What is new may have forgotten somebody, which shows when everything else has come to its end.
          if (seen.size % drainEvery === 0) {
            drained += 1;
            const found = attempt(() => world.drain(), world);
            if (found !== undefined)
              return { transitions, states: seen.size, drained, run: longer, violation: found };
          }
        }
        world = undefined;
        if (transitions >= most) return { transitions, states: seen.size, drained, depth: at + 1 };
      }
    }
    level = next;
  }
  return { transitions, states: seen.size, drained, depth };
}

/** The state after these events. */
export function replay(modules, rules, run) {
  const world = new World(modules, rules);
  for (const event of run) world.apply(event);
  return world;
}

/** What breaks when a run is replayed and brought to its end, or undefined. */
export function violationOf(modules, rules, run) {
  const world = new World(modules, rules);
  for (const event of run) {
    const violation = attempt(() => world.apply(event), world);
    if (violation !== undefined) return violation;
  }
  return attempt(() => world.drain(), world);
}

function attempt(step, world) {
  try {
    step();
  } catch (error) {
    return `it threw ${error.stack}`;
  }
  return world.violations[0];
}

/** 52 bits, so that a million states fit into memory; two of them share a hash in one of some ten thousand explorations. */
function hashOf(text) {
  let low = 0x811c9dc5;
  let high = 0x2545f491;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = Math.imul(low ^ unit, 0x01000193);
    high = Math.imul(high ^ unit, 0x5bd1e995);
    high ^= high >>> 15;
  }
  return (high >>> 12) * 2 ** 32 + (low >>> 0);
}
