// An application of the built package whose event listeners all fail. It exits with 0 unless a failure ends it earlier.
import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { Observable, asyncScheduler } from 'rxjs';
import { finalize, map, mergeMap, observeOn } from 'rxjs/operators';
import { setTimeout as elapse } from 'node:timers/promises';
import { DistributedLockModule, LockService } from '../../dist/esm/index.js';

const fail = () => {
  throw new Error('of the listener');
};
const failLater = async () => fail();

const app = await NestFactory.createApplicationContext(
  DistributedLockModule.forRoot({ store: 'memory', shutdownTimeout: 0 }),
  { logger: false },
);
const locks = app.get(LockService);
const listen = () => {
  const { events } = locks;
  for (const listener of [fail, failLater]) {
    events.subscribe(listener);
    events.subscribe({ next: listener, complete: listener });
    events.pipe(map(fail)).subscribe({ error: listener });
  }
  events.pipe(map(fail)).subscribe();
  events
    .pipe(
      (source) => new Observable((subscriber) => source.subscribe({ next: () => subscriber.error(fail) })),
    )
    .subscribe();
  events.pipe(mergeMap(failLater)).subscribe();
  events.pipe(finalize(fail)).subscribe();
  events.pipe(observeOn(asyncScheduler), finalize(fail)).subscribe();
};
listen();
const lost = await locks.acquire('lost', { leaseTime: 20 });
for (const listener of [fail, failLater]) lost.signal.addEventListener('abort', listener);
while (!lost.signal.aborted) await elapse(5);
await locks.withLock('key', () => undefined);
await app.close();
listen();
await elapse(20); // rxjs throws from a timer
process.stdout.write('survived\n');
