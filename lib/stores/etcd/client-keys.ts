import type { DriverEvents } from '../ordered/ordered-driver.js';
import { TokenBase } from '../ordered/token-base.js';
import { LockStoreError } from '../port/lock-store.js';
import type { EtcdConnection } from './connection/etcd-connection.js';
import { EtcdError, isOutOfSpace, status } from './connection/etcd-failure.js';
import {
  foundIn,
  methods,
  type Condition,
  type KeyValue,
  type RangeCall,
  type Reply,
} from './connection/protocol.js';
import type { EntryNames } from './entry-names.js';
import type { SessionLeases } from './session-leases.js';

type Caller = Pick<EtcdConnection, 'call'>;

/**
 * The keys without which no lock is granted: the base of tokens, and the client's fence. Each connection raises the
 * fence's revision first, and each write names that revision. So a late write of an earlier connection is rejected,
 * whenever it arrives.
 */
export class ClientKeys {
  readonly tokens: TokenBase;
  /** The revision of the fence; undefined while there is none, because etcd has no space left. */
  fence: number | undefined;
  private base = '';
  private raising: Promise<number> | undefined;
  private repairing: Promise<void> | undefined;
  private lastRevision = 0;

  constructor(
    private readonly names: EntryNames,
    private readonly leases: Pick<SessionLeases, 'session' | 'forgetSession'>,
    private readonly connection: Caller,
    private readonly events: Pick<DriverEvents, 'dataLost' | 'back'>,
  ) {
    this.tokens = new TokenBase(`${names.base} in etcd`, '');
  }

  /** Prepares a connection. Without space it can renew holds, but not acquire locks. Returns the current revision. */
  async prepare(via: Caller): Promise<number> {
    const revision = await this.prepareBase(via);
    this.fence = this.raising = undefined;
    try {
      await this.raise(via);
    } catch (error) {
      if (!isOutOfSpace(error)) throw error;
      // Without the key, late writes are rejected, too. etcd still deletes.
      const drop = { do: 'delete', key: this.names.fence } as const;
      await via.call(methods.transaction, { do: 'txn', then: [drop] });
    }
    return revision;
  }

  /** Writes the fence, unless that is pending. Returns its revision. */
  raise(via: Caller = this.connection): Promise<number> {
    const raising = (this.raising ??= this.raiseNow(via).finally(() => {
      if (this.raising === raising) this.raising = undefined;
    }));
    return raising;
  }

  /** On these a write depends; if one of them was false, {@link areRight} tells by {@link ranges}. */
  conditions(fence: number): Condition[] {
    return [
      { key: this.names.fence, modified: fence },
      { key: this.names.base, value: this.base },
    ];
  }

  get ranges(): [RangeCall, RangeCall] {
    return [
      { do: 'range', key: this.names.fence },
      { do: 'range', key: this.names.base },
    ];
  }

  /** @param replies to {@link ranges} */
  areRight(fence: number, [fences, bases]: readonly Reply[]): boolean {
    return foundIn(fences)[0]?.modified === fence && this.isBase(foundIn(bases));
  }

  /** Tokens depend on the base at the revision of a read. */
  isBase([found]: readonly KeyValue[]): boolean {
    return found?.value === this.base;
  }

  /** Writes the keys again, unless that is pending: they were deleted or changed, and locks perhaps, too. */
  repair(): Promise<void> {
    this.repairing ??= this.prepare(this.connection)
      .then(() => this.events.back())
      .finally(() => {
        this.repairing = undefined;
      });
    return this.repairing;
  }

  /** The error for a caller whose request the keys did not allow. */
  get failure(): LockStoreError {
    const { base, fence } = this.names;
    return new LockStoreError(
      `${JSON.stringify(base)} or ${JSON.stringify(fence)} in etcd was deleted or changed, without which no lock is granted. ` +
        'It is being written again. Leave the keys below the prefix of locks to the applications that use it',
      { inDoubt: false, retryable: true },
    );
  }

  /** Records the revision of a reply. */
  saw(revision: number): void {
    this.lastRevision = Math.max(this.lastRevision, revision);
    this.tokens.saw(revision);
  }

  private async prepareBase(via: Caller): Promise<number> {
    const { names, tokens } = this;
    for (;;) {
      const { revision, reply } = await via.call(methods.range, { do: 'range', key: names.base });
      // etcd has lost data, or was restored from a snapshot.
      if (revision < this.lastRevision) this.events.dataLost();
      this.lastRevision = revision;
      const [found] = reply.entries;
      const value = found === undefined ? tokens.first : tokens.adopt(found.value, revision);
      if (found !== undefined && value === undefined) {
        this.base = found.value;
        return revision;
      }
      const isUnchanged: Condition = { key: names.base, modified: found?.modified ?? 0 };
      const put = { do: 'put', key: names.base, value: value ?? '', lease: 0 } as const;
      try {
        await via.call(methods.transaction, { do: 'txn', if: [isUnchanged], then: [put] });
      } catch (error) {
        if (!isOutOfSpace(error)) throw error;
        return revision;
      }
    }
  }

  private async raiseNow(via: Caller): Promise<number> {
    for (let tries = 0; ; tries++) {
      try {
        const lease = await this.leases.session(via);
        const put = { do: 'put', key: this.names.fence, value: '', lease } as const;
        const { revision } = await via.call(methods.transaction, { do: 'txn', then: [put] });
        this.fence = revision;
        return revision;
      } catch (error) {
        const cause = error instanceof LockStoreError ? error.cause : error;
        const isGone = cause instanceof EtcdError && cause.code === status.notFound;
        if (!isGone || tries > 0) throw error;
        // The session has ended: the client was out of contact for too long.
        this.leases.forgetSession();
      }
    }
  }
}
