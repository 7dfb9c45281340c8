import { AsyncLocalStorage } from 'node:async_hooks';
import type { LockHandle, LockKey, LockOptions } from '../../lib/index.js';
import type { LockApp } from '../support/lock-app.js';

/** Work under a lock that continues until it is ended, and a way to run code inside its scope. */
export interface RunningWork {
  readonly lock: LockHandle;
  inside<T>(fn: () => Promise<T> | T): Promise<T>;
  end(): Promise<void>;
}

export async function begin(app: LockApp, key: LockKey, options: LockOptions = {}): Promise<RunningWork> {
  return await new Promise<RunningWork>((resolve, reject) => {
    const work = app.locks.withLock(
      key,
      options,
      (lock) =>
        new Promise<void>((end) => {
          const inside = AsyncLocalStorage.snapshot();
          resolve({
            lock,
            inside: async (fn) => await inside(fn),
            end: async () => {
              end();
              await work;
            },
          });
        }),
    );
    work.catch(reject);
  });
}
