import type {
  LockStore,
  LockStoreClient,
  LockStoreSession,
  WallClockMs,
} from '../../lib/stores/port/index.js';
import { MemoryLockStore } from '../../lib/index.js';
import { LockStoreError } from '../../lib/stores/port/index.js';

/** A quorum member in memory; a test controls its faults and its clock. Records all requests. */
export class MemberUnderControl implements LockStore {
  readonly name: string;
  /** `refusing`: replies with errors. `silent`: ignores requests. `slow`: carries requests out, and replies on `answer()`. */
  condition: 'up' | 'down' | 'refusing' | 'silent' | 'slow' = 'up';
  /** The only kind of request with slow replies; all if undefined. */
  slowAt: string | undefined;
  /** Delays each request until it resolves; requests of one session arrive in order. */
  way: (() => Promise<unknown>) | undefined;
  /** A kind of request that never arrives. */
  isDeafTo: string | undefined;
  readonly asked: string[] = [];
  private store = new MemoryLockStore();
  private readonly held: (() => void)[] = [];
  private lastToken = 0;

  /** @param skew how far its clock is ahead, ms */
  constructor(
    index: number,
    public skew = 0,
  ) {
    this.name = `member ${index}`;
  }

  /** Sends the replies that a slow member has held back. */
  answer(): void {
    this.condition = 'up';
    for (const send of this.held.splice(0)) send();
  }

  /** Restarts without data. */
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
        // The lock stores the token reported last.
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
      release: (request) => ask(request.wasGranted ? 'release' : 'cancel', (inner) => inner.release(request)),
      renew: (requests) => ask('renew', (inner) => inner.renew(requests)),
      raise: (request) =>
        ask('raise', async () => {
          this.lastToken = Math.max(this.lastToken, request.floor);
          return Promise.resolve();
        }),
      inspect: (key) => ask('inspect', (inner) => inner.inspect(key)),
      breakHold: (key, hold) => ask('breakHold', (inner) => inner.breakHold(key, hold)),
      close: () => Promise.resolve(),
    };
  }

  /** By this member's clock and always increasing, as in the scripts. */
  private stamp(count: number): { token: number; since: WallClockMs } {
    const now = Date.now() + this.skew;
    const token = Math.max(this.lastToken + 1, now * 1000);
    this.lastToken = token + count - 1;
    return { token, since: now as WallClockMs };
  }
}

export function memberAt<M extends MemberUnderControl>(members: readonly M[], index: number): M {
  const member = members[index];
  if (member === undefined) throw new Error(`there is no member ${index}`);
  return member;
}
