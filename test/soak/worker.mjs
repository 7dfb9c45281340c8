// One process of a soak run: an application with many callers on few locks. It records what it observes, and draws no
// conclusions. The fleet starts it with its settings as the only argument.
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
// Written synchronously: a killed process must have recorded its events.
const record = (event) => {
  writeSync(file, `${JSON.stringify({ t: monotonic(), p: settings.id, ...event })}\n`);
};
const trouble = (e) => (error) => record({ e, m: String(error?.stack ?? error) });
process.on('unhandledRejection', trouble('unhandled'));
process.on('uncaughtException', trouble('uncaught'));
process.on('warning', trouble('warning'));

const BEAT = 10;
/** A longer block of the event loop extends the bounds of everything due meanwhile. */
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
  write: askResource,
});
const reportProgress = () => process.send?.({ holds: workload.holds, dropped: pushed.dropped });
const progress = setInterval(reportProgress, 1_000);

const replies = new Map();
/** The resource lives in the parent process. Sent immediately; the reply is only recorded. */
function askResource(write) {
  return new Promise((resolve) => {
    replies.set(write.i, resolve);
    process.send?.({ write });
  });
}

/** The engine's collections by key or by owner, which must be empty at the end. */
function keptBy(engine) {
  const sized = (object) =>
    Object.entries(object ?? {}).filter(([, value]) => typeof value?.size === 'number' && value.size > 0);
  const parts = [engine, ...Object.values(engine)];
  return Object.fromEntries(parts.flatMap(sized).map(([name, { size }]) => [name, size]));
}

let ending;
/** Closes the application as a SIGTERM would; `abrupt`: while callers are still at work. */
async function finish(abrupt) {
  workload.end();
  if (!abrupt) await workload.ended;
  const began = monotonic();
  record({ e: 'closing' });
  await app.close();
  record({ e: 'closed', took: monotonic() - began, kept: keptBy(locks.engine) });
  await workload.ended;
  reportProgress();
  clearInterval(heart);
  clearInterval(progress);
  record({ e: 'done', rss: process.memoryUsage.rss() });
  // From here on only leftovers of the library keep the process alive.
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
  // The parent has exited.
  if (ending === undefined) process.exit();
});
workload.start();
