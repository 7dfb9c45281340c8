// A separate process that uses the built package like an application and runs the commands that its parent sends over
// IPC. Plain JavaScript, so that it starts without a compiler.
import 'reflect-metadata';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockService } from '../../dist/esm/index.js';
import { moduleOptionsOf } from './worker-options.mjs';

let app;
let locks;
let closing = false;
const handles = new Map();
const loops = new Map();
/** The callers of `startLoad`, and what they have seen. */
const loads = [];
/** One entry for each current holder of a load. They look every 10 ms whether they hold their lock; all at once, which is cheaper. */
const beliefs = new Set();
let looking;

const commands = {
  /** @param isOnPage whether lock dashboards show it; `isQuiet`: whether it reports no events, which take time */
  async start({ options, isOnPage = false, isQuiet = false }) {
    const imports = [DistributedLockModule.forRoot(await moduleOptionsOf(options))];
    if (isOnPage)
      imports.push(
        (await import('../../dist/esm/dashboard.js')).LockDashboardModule.forRoot({ page: false }),
      );
    class WorkerModule {}
    Module({ imports })(WorkerModule);
    app = await NestFactory.createApplicationContext(WorkerModule, { logger: false });
    locks = app.get(LockService);
    if (isQuiet) return;
    locks.events.subscribe((event) => process.send?.({ event: { type: event.type, key: event.key } }));
  },

  async acquire({ key, options, as }) {
    const handle = await locks.acquire(key, options);
    handles.set(as ?? key, handle);
    return handle.token;
  },

  /** Waits for one key in this many applications; returns when all are queued. */
  async queueAs({ key, sessions, options }) {
    for (let index = 0; index < sessions; index++) {
      const context = await NestFactory.createApplicationContext(DistributedLockModule.forRoot(options), {
        logger: false,
      });
      const service = context.get(LockService);
      const queued = new Promise((resolve) => {
        service.events.subscribe(({ type }) => type === 'queued' && resolve());
      });
      service.acquire(key, { waitTime: 60_000 }).catch(() => undefined);
      await queued;
    }
  },

  release: ({ as }) => handles.get(as).release(),

  status: ({ as }) => look(handles.get(as)),

  /**
   * Computes until this process notices that it was stopped for `gap` ms, and reads the handle in the very next statement.
   * The event loop turns every few ms, so that renewals get through.
   */
  async computeUntilStopped({ as, gap, deadline }) {
    const handle = handles.get(as);
    const start = performance.now();
    let last = start;
    // From here on the parent may stop this process at any statement.
    process.send?.({ event: { type: 'computing' } });
    while (last - start < deadline) {
      const turn = last + 10;
      while (last < turn) {
        const now = performance.now();
        if (now - last > gap) return { paused: now - last, ...look(handle) };
        last = now;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    throw new Error(`was never stopped for ${gap} ms`);
  },

  /** Acquires the lock again and again until `stopLoop`; `witness` is a file that only one holder may have at a time. */
  async loop({ key, options, name, work, witness }) {
    const state = { going: true };
    loops.set(name, state);
    const seen = { rounds: 0, overlaps: 0, tokens: [], errors: [] };
    while (state.going) {
      try {
        await locks.withLock(key, options, async (lock) => {
          seen.tokens.push(lock.token);
          const file = enter(witness);
          if (file === undefined) seen.overlaps += 1;
          await elapse(work);
          if (file !== undefined) leave(witness, file);
        });
        seen.rounds += 1;
      } catch (error) {
        seen.errors.push(error.code ?? String(error));
        if (seen.errors.length > 1_000) break;
      }
    }
    return seen;
  },

  /** Acquires and releases one free lock after another: `count` of them, or for `ms`. Returns the time of each pair, ms. */
  async pairs({ prefix, count = Infinity, ms = Infinity }) {
    const times = [];
    const end = monotonic() + ms;
    for (let i = 0; i < count && monotonic() < end; i++) {
      const started = monotonic();
      await (await locks.acquire(`${prefix}-${i}`)).release();
      times.push(monotonic() - started);
    }
    return times;
  },

  /** One caller for each key acquires it again and again, and holds it for `least` to `most` ms. */
  startLoad({ keys, section }) {
    looking ??= setInterval(() => beliefs.forEach(renew), 10);
    const stop = new AbortController();
    const report = { holds: [], errors: {} };
    loads.push({ stop, report, callers: keys.map((key) => contend(key, section, report, stop.signal)) });
  },

  /** Ends all loads; returns their reports. */
  async endLoad() {
    const ended = loads.splice(0);
    for (const { stop } of ended) stop.abort();
    await Promise.all(ended.flatMap(({ callers }) => callers));
    clearInterval(looking);
    looking = undefined;
    return ended.map(({ report }) => report);
  },

  stopLoop({ name }) {
    loops.get(name).going = false;
  },

  /** Requests a lock, and exits in the same tick. */
  askAndExit({ key }) {
    setImmediate(async () => {
      await locks.withLock(key, () => undefined);
      void locks.withLock(key, () => undefined);
      process.exit(0);
    });
  },

  async workAndExit({ keys }) {
    const work = Promise.all(keys.map((key) => locks.withLock(key, () => elapse(5))));
    // After the reply to the parent.
    setImmediate(() => work.then(() => process.exit(0)));
  },

  /** Closes the application and disconnects from the parent: after that only the library can keep the process alive. */
  async close() {
    await app?.close();
    closing = true;
    // Handles close up to two turns of the event loop later.
    for (let turn = 0; turn < 2; turn++) await elapse(1);
    setImmediate(() => process.disconnect?.());
    return process.getActiveResourcesInfo();
  },
};

/** ms, the same for all processes of the machine, and independent of their wall clocks. */
function monotonic() {
  return Number(process.hrtime.bigint()) / 1e6;
}

function look(handle) {
  let asserted = 'held';
  try {
    handle.assertHeld();
  } catch (error) {
    asserted = error.code;
  }
  return {
    isHeld: handle.isHeld,
    remaining: handle.remaining,
    aborted: handle.signal.aborted,
    token: handle.token,
    asserted,
  };
}

async function contend(key, [least, most], report, signal) {
  while (!signal.aborted) {
    try {
      const lock = await locks.acquire(key, { waitTime: 60_000, signal });
      report.holds.push({ key, ...(await hold(lock, least + Math.random() * (most - least))) });
    } catch (error) {
      if (signal.aborted) return;
      const name = error.code ?? error.name;
      report.errors[name] = (report.errors[name] ?? 0) + 1;
      await elapse(20);
    }
  }
}

async function hold(lock, ms) {
  const from = monotonic();
  const belief = { lock, until: from };
  beliefs.add(belief);
  await elapse(ms);
  renew(belief);
  beliefs.delete(belief);
  return {
    token: lock.token,
    from,
    to: belief.until,
    isLost: lock.signal.aborted,
    outcome: await lock.release(),
  };
}

/** Records the last time at which `assertHeld()` would have succeeded. */
function renew(belief) {
  if (belief.lock.isHeld) belief.until = monotonic();
}

function enter(witness) {
  try {
    return openSync(witness, 'wx');
  } catch {
    return undefined;
  }
}

function leave(witness, file) {
  closeSync(file);
  unlinkSync(witness);
}

process.on('message', async ({ id, command, ...args }) => {
  try {
    process.send?.({ id, value: (await commands[command](args)) ?? null });
  } catch (error) {
    process.send?.({ id, error: { name: error.name, code: error.code, message: error.message } });
  }
});
process.on('unhandledRejection', (error) => {
  process.send?.({ unhandled: String(error?.stack ?? error) });
});
// The parent has exited, so this process is of no use. After `close`, a parent checks how this process ends.
process.on('disconnect', () => {
  if (!closing) process.exit();
});
process.send?.({ ready: true });
