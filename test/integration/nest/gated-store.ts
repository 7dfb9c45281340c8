import { MemoryLockStore } from '../../../lib/index.js';
import type {
  LockStore,
  LockStoreClient,
  LockStoreSession,
  OwnerId,
} from '../../../lib/stores/port/index.js';
import type { Gate } from './gate.js';

/** A memory store without the optional methods of the port, whose requests and replies a test can delay. */
export class GatedStore implements LockStore {
  readonly name = 'memory behind gates';
  beforeAsk: Gate | undefined;
  afterAsk: Gate | undefined;
  beforeRelease: Gate | undefined;
  private readonly memory = new MemoryLockStore();
  private session: LockStoreSession | undefined;

  /** Removes the holders of the key without a notification. */
  async lose(key: string): Promise<void> {
    const holders = (await this.session?.inspect(key))?.holders ?? [];
    for (const { owner } of holders)
      await this.session?.release({ key, owner: owner as OwnerId, wasGranted: true, inDoubt: false });
  }

  open(client: LockStoreClient): LockStoreSession {
    const session = this.memory.open(client);
    this.session = session;
    return {
      start: () => session.start(),
      acquire: async (request) => {
        await this.beforeAsk?.pass();
        const reply = await session.acquire(request);
        await this.afterAsk?.pass();
        return reply;
      },
      release: async (request) => {
        if (request.wasGranted) await this.beforeRelease?.pass();
        return session.release(request);
      },
      renew: (requests) => session.renew(requests),
      inspect: (key) => session.inspect(key),
      breakHold: (key, hold) => session.breakHold(key, hold),
      close: () => session.close(),
    };
  }
}
