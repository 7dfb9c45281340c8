import type { LockStore, LockStoreClient, LockStoreSession, WallClockMs } from '../../lib/index.js';
import { LockStoreError, MemoryLockStore } from '../../lib/index.js';

/** One member of a quorum in memory, whose faults and clock a test decides. Counts what it is asked. */
export class MemberUnderControl implements LockStore {
  readonly name: string;
  /** `down`: can't be reached. `refusing`: answers with errors. `silent`: never answers, and does nothing. `slow`: does it, and answers when told to. */
  condition: 'up' | 'down' | 'refusing' | 'silent' | 'slow' = 'up';
  /** What alone a slow member is slow at; everything if left out. */
  slowAt: string | undefined;
  /** Keeps each request back until it resolves; those of one session arrive in order. */
  way: (() => Promise<unknown>) | undefined;
  /** What it never hears of. */
  isDeafTo: string | undefined;
  readonly asked: string[] = [];
  private store = new MemoryLockStore();
  private readonly held: (() => void)[] = [];
  private lastToken = 0;

  /** @param skew by how many ms its clock is ahead */
  constructor(
    index: number,
    public skew = 0,
  ) {
    this.name = `member ${index}`;
  }

  /** Sends the answers that a slow member owes. */
  answer(): void {
    this.condition = 'up';
    for (const send of this.held.splice(0)) send();
  }

  /** Starts anew with nothing. */
  restartEmpty(): void {
    this.store = new MemoryLockStore();
    this.lastToken = 0;
  }

  open(client: LockStoreClient): LockStoreSession {
    const sessions = new WeakMap<MemoryLockStore, LockStoreSession>();
    const grantedHere: LockStoreClient = {
      ...client,
      now: () => client.now(),
      granted: (owner, grant) => {
        const { token, since } = this.stamp(grant.tokens ?? 1);
        // The lock itself keeps what it was told last.
        client.granted(owner, { ...grant, token, since });
      },
    };
    let before: Promise<unknown> = Promise.resolve();
    const session = (): LockStoreSession => {
      const known = sessions.get(this.store) ?? this.store.open(grantedHere);
      sessions.set(this.store, known);
      return known;
    };
    const ask = async <T>(what: string, request: (inner: LockStoreSession) => PromiseLike<T>): Promise<T> => {
      this.asked.push(what);
      if (this.condition === 'down') {
        throw new LockStoreError(`${this.name} is down`, {
          inDoubt: false,
          retryable: true,
          unreachable: true,
        });
      }
      if (this.condition === 'refusing') {
        throw new LockStoreError(`${this.name} is out of memory`, { inDoubt: false, retryable: true });
      }
      if (this.condition === 'silent' || this.isDeafTo === what)
        return await new Promise<never>(() => undefined);
      if (this.way !== undefined) {
        before = Promise.all([before, this.way()]);
        await before;
      }
      const reply = await request(session());
      const isSlow = (this.condition as string) === 'slow' && (this.slowAt ?? what) === what;
      if (isSlow) await new Promise<void>((send) => this.held.push(send));
      return reply;
    };
    return {
      start: () => ask('start', (inner) => inner.start()),
      acquire: (request) =>
        ask('acquire', async (inner) => {
          const reply = await inner.acquire(request);
          if (reply.outcome !== 'granted') return reply;
          return { ...reply, ...this.stamp(reply.tokens ?? 1) };
        }),
      cancel: (request) => ask('cancel', (inner) => inner.cancel(request)),
      release: (request) => ask('release', (inner) => inner.release(request)),
      renew: (requests) => ask('renew', (inner) => inner.renew(requests)),
      raise: (request) =>
        ask('raise', async () => {
          this.lastToken = Math.max(this.lastToken, request.floor);
          return Promise.resolve();
        }),
      inspect: (key) => ask('inspect', (inner) => inner.inspect(key)),
      forceRelease: (key) => ask('forceRelease', (inner) => inner.forceRelease(key)),
      close: () => Promise.resolve(),
    };
  }

  /** As the scripts do it: by this member's clock, and never the same or less. */
  private stamp(count: number): { token: number; since: WallClockMs } {
    const now = Date.now() + this.skew;
    const token = Math.max(this.lastToken + 1, now * 1000);
    this.lastToken = token + count - 1;
    return { token, since: now as WallClockMs };
  }
}
