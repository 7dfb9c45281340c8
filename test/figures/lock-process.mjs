// A separate process that uses locks as an application does, from the built package, and records the times.
import 'reflect-metadata';
import { setTimeout as elapse } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { DistributedLockModule, LockService } from '../../dist/esm/index.js';
import { moduleOptionsOf } from '../support/worker-options.mjs';

const OUTCOMES = ['released', 'expired', 'unknown'];

/** ms; shorter work is checked only at its end. */
const LOOK_EVERY = 10;

let app;
let locks;
let looking;
const loads = [];
/** One entry for each current holder. */
const beliefs = new Set();

/** The machine's monotonic clock, ms. */
const now = () => Number(process.hrtime.bigint()) / 1e6;

const commands = {
  async open({ options }) {
    const module = DistributedLockModule.forRoot(await moduleOptionsOf(options));
    app = await NestFactory.createApplicationContext(module, { logger: false });
    locks = app.get(LockService);
  },

  /** Acquires and releases one free lock after another: `count` of them, or for `ms`. Returns the time of each pair, ms. */
  async pairs({ prefix, count = Infinity, ms = Infinity }) {
    const times = [];
    const end = now() + ms;
    for (let i = 0; i < count && now() < end; i++) {
      const started = now();
      await (await locks.acquire(`${prefix}-${i}`)).release();
      times.push(now() - started);
    }
    return Float64Array.from(times);
  },

  /** One caller for each key acquires it again and again, and holds it for `least` to `most` ms. */
  startLoad({ keys, section }) {
    looking ??= setInterval(() => beliefs.forEach(look), LOOK_EVERY);
    const stop = new AbortController();
    const report = { holds: [], errors: {} };
    const callers = keys.map((key, index) => contend({ key, index, section, report }, stop.signal));
    loads.push({ stop, report, callers });
  },

  /** Ends all loads; returns the encoded holds, see hold.ts. */
  async endLoad() {
    const ended = [];
    for (const { stop } of loads) stop.abort();
    for (const { report, callers } of loads.splice(0)) {
      await Promise.all(callers);
      ended.push({ errors: report.errors, holds: Float64Array.from(report.holds.flat()) });
    }
    clearInterval(looking);
    looking = undefined;
    return ended;
  },

  async close() {
    await app.close();
    setImmediate(() => process.disconnect());
  },
};

async function contend({ key, index, section: [least, most], report }, signal) {
  while (!signal.aborted) {
    try {
      const lock = await locks.acquire(key, { waitTime: 60_000, signal });
      report.holds.push([index, ...(await hold(lock, least + Math.random() * (most - least)))]);
    } catch (error) {
      if (signal.aborted) return;
      const name = error.code ?? error.name;
      report.errors[name] = (report.errors[name] ?? 0) + 1;
      await elapse(20);
    }
  }
}

async function hold(lock, ms) {
  const from = now();
  const belief = { lock, until: from };
  beliefs.add(belief);
  await elapse(ms);
  look(belief);
  beliefs.delete(belief);
  const lost = lock.signal.aborted ? 1 : 0;
  return [lock.token, from, belief.until, lost, OUTCOMES.indexOf(await lock.release())];
}

/** Records the last time at which `assertHeld()` would have succeeded. */
function look(belief) {
  if (belief.lock.isHeld) belief.until = now();
}

process.on('message', async ({ id, command, ...args }) => {
  try {
    process.send({ id, value: await commands[command](args) });
  } catch (error) {
    process.send({ id, error: String(error?.stack ?? error) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ ready: true });
