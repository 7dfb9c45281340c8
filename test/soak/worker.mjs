// One process of a soak run: an application with many callers on few locks. It writes down what it sees, and draws no
// conclusions. Started by the fleet, which tells it what to do in the one argument.
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { monotonic } from './monotonic.mjs';
import { PushedEvents } from './pushed-events.mjs';
import { Random } from './random.mjs';
import { load, moduleOptions } from './servers/module-options.mjs';
import { Workload } from './workload.mjs';

const settings = JSON.parse(process.argv[2]);
const { DistributedLockModule, LockService } = await import(pathToFileURL(settings.build).href);
const pushed = await PushedEvents.of(settings.store, (file) => load(settings.build, file));

const file = openSync(settings.log, 'a');
// Written at once and not collected: a process that is killed must have said what it did.
const record = (event) => {
  writeSync(file, `${JSON.stringify({ t: monotonic(), p: settings.id, ...event })}\n`);
};
const trouble = (e) => (error) => record({ e, m: String(error?.stack ?? error) });
process.on('unhandledRejection', trouble('unhandled'));
process.on('uncaughtException', trouble('uncaught'));
process.on('warning', trouble('warning'));

const BEAT = 10;
/** The event loop stood still for longer than this: the bounds of what was due meanwhile move. */
const STALL = 25;
let lastBeat = monotonic();
const heart = setInterval(() => {
  const now = monotonic();
  if (now - lastBeat > BEAT + STALL) record({ e: 'stall', from: lastBeat, t: now });
  lastBeat = now;
}, BEAT);

const quiet = { log: () => undefined, warn: () => undefined, error: trouble('logged') };
const app = await NestFactory.createApplicationContext(
  DistributedLockModule.forRoot({
    ...(await moduleOptions(settings.store, settings.url, settings.build)),
    watchdogTimeout: settings.watchdogTimeout,
    waitTime: 3_000,
    shutdownTimeout: 4_000,
  }),
  { logger: quiet },
);
const locks = app.get(LockService);
locks.events.subscribe((event) => {
  if (event.type === 'queued') record({ e: 'queued', k: event.key });
});

const workload = new Workload({
  locks,
  record,
  settings,
  random: new Random(settings.seed),
  fair: await knowsFair(),
  write: askResource,
});
const tellProgress = () => process.send?.({ holds: workload.holds, unheard: pushed.dropped });
const progress = setInterval(tellProgress, 1_000);

/** Builds from before the option refuse it by name. */
async function knowsFair() {
  try {
    await (await locks.tryAcquire('fair?', { fair: true }))?.release();
    return true;
  } catch (error) {
    return error.code !== 'LOCK_OPTIONS';
  }
}

const replies = new Map();
/** The resource lives in the parent. Sent at once; the answer is for the record only. */
function askResource(write) {
  return new Promise((resolve) => {
    replies.set(write.i, resolve);
    process.send?.({ write });
  });
}

/** Whatever the engine keeps by key or by owner has to be empty in the end. */
function keptBy(engine) {
  const sized = (object) =>
    Object.entries(object ?? {}).filter(([, value]) => typeof value?.size === 'number' && value.size > 0);
  const parts = [engine, ...Object.values(engine)];
  return Object.fromEntries(parts.flatMap(sized).map(([name, { size }]) => [name, size]));
}

let ending;
/** Closes the application as a SIGTERM would; `abrupt`: with callers still at work. */
async function finish(abrupt) {
  workload.end();
  if (!abrupt) await workload.ended;
  const began = monotonic();
  record({ e: 'closing' });
  await app.close();
  record({ e: 'closed', took: monotonic() - began, kept: keptBy(locks.engine) });
  await workload.ended;
  tellProgress();
  clearInterval(heart);
  clearInterval(progress);
  record({ e: 'done', rss: process.memoryUsage.rss() });
  // From here on only what the library forgot keeps the process alive.
  setInterval(() => record({ e: 'alive', by: process.getActiveResourcesInfo() }), 2_000).unref();
  process.disconnect();
}

process.on('message', ({ order, abrupt, ms, i, taken }) => {
  if (order === 'drop pushed events') pushed.drop(ms);
  if (order === 'end') ending ??= finish(abrupt);
  if (taken !== undefined) {
    replies.get(i)?.(taken);
    replies.delete(i);
  }
});
process.on('disconnect', () => {
  // The parent is gone.
  if (ending === undefined) process.exit();
});
workload.start();
