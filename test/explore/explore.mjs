/**
 * Goes through every order of events, the short runs first, and merges states that are equal. Each state is reached by replaying its
 * events, since a line can't be copied; a world that has a `state` is opened with it instead.
 *
 * @param open returns the world at its beginning: `events`, `apply`, `drain`, `violations` and `fingerprint`, see `World`;
 *   `apply` and `drain` may return promises
 * @param limits `transitions`: where to stop; `drainEvery`: one of so many new states is brought to its end;
 *   `start`: how each run begins
 * @returns how much was explored, and the shortest run that breaks an invariant, if there is one
 */
export async function explore(open, { transitions: most, drainEvery = 1, start = [] }) {
  const seen = new Set();
  let transitions = 0;
  let drained = 0;
  let level = [{ run: start }];
  let depth = 0;
  for (; level.length > 0; depth += 1) {
    const next = [];
    for (const { run, state } of level) {
      const reach = () => (state === undefined ? replay(open, run) : open(state));
      let world = await reach();
      const { events } = world;
      for (const event of events) {
        world ??= await reach();
        const violation = await attempt(() => world.apply(event), world);
        transitions += 1;
        const longer = [...run, event];
        if (violation !== undefined)
          return { transitions, states: seen.size, drained, run: longer, violation };
        const hash = hashOf(world.fingerprint);
        if (!seen.has(hash)) {
          seen.add(hash);
          next.push({ run: longer, state: world.state });
          // What is new may have forgotten somebody, which shows when everything else has come to its end.
          if (seen.size % drainEvery === 0) {
            drained += 1;
            const found = await attempt(() => world.drain(), world);
            if (found !== undefined)
              return { transitions, states: seen.size, drained, run: longer, violation: found };
          }
        }
        world = undefined;
        if (transitions >= most) return { transitions, states: seen.size, drained, depth };
      }
    }
    level = next;
  }
  return { transitions, states: seen.size, drained, depth };
}

/** The state after these events, which broke nothing when they were explored. */
async function replay(open, run) {
  const world = open();
  world.isReplay = true;
  for (const event of run) {
    const done = world.apply(event);
    if (done !== undefined) await done;
  }
  world.isReplay = false;
  return world;
}

/** What breaks when a run is replayed and brought to its end, or undefined. */
export async function violationOf(open, run) {
  const world = open();
  for (const event of run) {
    if (!world.events.includes(event)) return `"${event}" can't happen there, but ${world.events.join(', ')}`;
    const violation = await attempt(() => world.apply(event), world);
    if (violation !== undefined) return violation;
  }
  return await attempt(() => world.drain(), world);
}

async function attempt(step, world) {
  try {
    await step();
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
