// A process of one of two versions that share locks. It uses only what both versions have. Its argument: `folder`, the
// built package, and `options`, those of the module, see worker-options.mjs.
import 'reflect-metadata';
import { closeSync, openSync, unlinkSync } from 'node:fs';
import { setTimeout as elapse } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { entryOf } from '../../.scripts/entries.mjs';
import { moduleOptionsOf } from './worker-options.mjs';

const { folder, options } = JSON.parse(process.argv[2]);
const { DistributedLockModule, LockService } = await import(entryOf(folder));
const app = await NestFactory.createApplicationContext(
  DistributedLockModule.forRoot(await moduleOptionsOf(options, folder)),
  { logger: false },
);
const locks = app.get(LockService);
const handles = new Map();
locks.events.subscribe(({ type, key }) => process.send({ event: type, key }));

const commands = {
  async acquire({ key, lock, as }) {
    const handle = await locks.acquire(key, lock);
    handles.set(as, handle);
    // Compared with the time of the release by another process of this machine.
    return { token: handle.token, at: Number(process.hrtime.bigint()) / 1e6 };
  },

  async release({ as }) {
    const at = Number(process.hrtime.bigint()) / 1e6;
    return { outcome: await handles.get(as).release(), at };
  },

  /** Acquires the lock again and again, for that time and at least that often; `witness` is a file that only one holder may have at a time. */
  async compete({ key, lock, ms, rounds, witness }) {
    const end = performance.now() + ms;
    const seen = { rounds: 0, overlaps: 0, errors: [] };
    while (performance.now() < end || (seen.rounds < rounds && seen.errors.length === 0)) {
      try {
        await locks.withLock(key, lock, async () => {
          let file;
          try {
            file = openSync(witness, 'wx');
          } catch {
            seen.overlaps += 1;
            return;
          }
          await elapse(2);
          closeSync(file);
          unlinkSync(witness);
        });
        seen.rounds += 1;
      } catch (error) {
        seen.errors.push(error.code ?? String(error));
      }
    }
    return seen;
  },

  async close() {
    await app.close();
    setImmediate(() => process.disconnect());
  },
};

process.on('message', async ({ id, command, ...args }) => {
  try {
    process.send({ id, value: (await commands[command](args)) ?? null });
  } catch (error) {
    process.send({ id, error: error.code ?? String(error?.stack) });
  }
});
process.on('disconnect', () => process.exit());
process.send({ event: 'ready' });
