// One process of a soak run: an application with many callers on few locks. It records what it observes, and draws no
// conclusions. The fleet starts it with its settings as the only argument.
import 'reflect-metadata';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';
import { monotonic } from './monotonic.mjs';
import { obey, observeProcess } from './observer.mjs';
import { PushedEvents } from './pushed-events.mjs';
import { Random } from './random.mjs';
import { load, moduleOptions } from './servers/module-options.mjs';
import { Workload } from './workload.mjs';

const settings = JSON.parse(process.argv[2]);
const { DistributedLockModule, LockService } = await import(pathToFileURL(settings.build).href);
const pushed = await PushedEvents.of(settings.store, (file) => load(settings.build, file));

const { record, logger, end } = observeProcess(settings);
const app = await NestFactory.createApplicationContext(
  DistributedLockModule.forRoot({
    ...(await moduleOptions(settings.store, settings.url, settings.build)),
    watchdogTimeout: settings.watchdogTimeout,
    waitTime: 3_000,
    shutdownTimeout: 4_000,
  }),
  { logger },
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
  clearInterval(progress);
  end();
  process.disconnect();
}

function answered({ i, taken }) {
  replies.get(i)?.(taken);
  replies.delete(i);
}

obey({ pushed, finish, others: answered });
workload.start();
