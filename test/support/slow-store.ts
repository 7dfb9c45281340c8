import type { MemoryLockStore } from '../../lib/index.js';
import type { LockStore, LockStoreClient, LockStoreSession } from '../../lib/stores/port/index.js';
import { elapse } from './until.js';

/** A store in memory behind a slow network. */
export class SlowStore implements LockStore {
  readonly name = 'a distant store';

  constructor(
    private readonly memory: MemoryLockStore,
    /** The round trip, ms. */
    private readonly delay: number,
  ) {}

  open(client: LockStoreClient): LockStoreSession {
    const near = this.memory.open({
      ...client,
      granted: (owner, grant) => void this.way().then(() => client.granted(owner, grant)),
    });
    const far = async <T>(request: () => PromiseLike<T>): Promise<T> => {
      await this.way();
      const reply = await request();
      await this.way();
      return reply;
    };
    const { reserve } = near;
    return {
      start: () => near.start(),
      acquire: (request) => far(() => near.acquire(request)),
      release: (request) => far(() => near.release(request)),
      renew: (requests) => far(() => near.renew(requests)),
      ...(reserve && { reserve: (request) => far(() => reserve.call(near, request)) }),
      inspect: (key) => far(() => near.inspect(key)),
      breakHold: (key, hold) => far(() => near.breakHold(key, hold)),
      close: () => near.close(),
    };
  }

  private way(): Promise<void> {
    return elapse(this.delay / 2);
  }
}
