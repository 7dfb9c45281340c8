import type { TimerQueue } from '../../../common/timer-queue.js';
import { ObservedLeases } from '../../ordered/observed-leases.js';
import type { LockStoreClient } from '../../port/lock-store.js';
import { storeFailure } from '../../port/store-failure.js';
import type { EtcdConnection } from '../connection/etcd-connection.js';
import { EtcdError, status } from '../connection/etcd-failure.js';
import { methods, type AtRevision, type Transaction, type TransactionReply } from '../connection/protocol.js';
import { KeyNames } from './entries.js';
import { LockReader } from './lock-reader.js';
import { OwnEntries } from './own-entries.js';
import { SessionLeases } from './session-leases.js';
import { TokenBase } from './token-base.js';
import { EntryLookups, Transactions } from './transactions.js';
import { KeyedSerialQueue, PendingAcquires } from './turns.js';
import { WaitedLocks, Watches } from './waited-locks.js';

/** The common context of the parts of a session. */
export class LockContext {
  readonly names: KeyNames;
  readonly turns = new KeyedSerialQueue();
  readonly watches = new Watches();
  readonly observed: ObservedLeases;
  readonly transactions = new Transactions((transaction) => this.send(transaction));
  readonly lookups: EntryLookups;
  readonly leases: SessionLeases;
  readonly base: TokenBase;
  readonly acquires = new PendingAcquires();
  readonly reader = new LockReader(this);
  readonly own = new OwnEntries(this);
  readonly waited = new WaitedLocks(this);

  constructor(
    readonly client: LockStoreClient,
    readonly connection: Pick<EtcdConnection, 'call' | 'trouble'>,
    readonly timers: TimerQueue,
    keyPrefix: string,
    requestTimeout: number,
  ) {
    this.names = new KeyNames(keyPrefix);
    this.lookups = new EntryLookups(connection);
    this.observed = new ObservedLeases(client, timers, (name, modified) => this.endHold(name, modified));
    const onLost = (): void => {
      client.reconnected();
    };
    this.leases = new SessionLeases(
      connection,
      timers,
      client,
      requestTimeout,
      (id) => this.own.all.some(({ leaseId }) => leaseId === id),
      onLost,
    );
    this.base = new TokenBase(this.names.base, connection, () => {
      this.forget();
      onLost();
    });
  }

  /** Forgets all observed locks: keys were deleted, or etcd has lost data. */
  forget(): void {
    this.observed.clear();
  }

  private async endHold(name: string, modified: number): Promise<void> {
    // Most are gone by now, and a transaction that may delete costs etcd a write even if it does not.
    const found = await this.lookups.find(name);
    if (found?.modified === modified)
      await this.transactions.runIf(name, { key: name, modified }, { do: 'delete', key: name });
  }

  private async send(transaction: Transaction): Promise<AtRevision<TransactionReply>> {
    try {
      const answer = await this.connection.call(methods.transaction, transaction);
      this.base.saw(answer.revision);
      return answer;
    } catch (error) {
      const { inDoubt, cause } = storeFailure(error);
      // The entry that it may have put, or may put later, must not stay for as long as this process lives.
      if (inDoubt) this.leases.replaceAll();
      // The transaction named a lease that etcd no longer has.
      if (cause instanceof EtcdError && cause.code === status.notFound) this.leases.verify();
      throw error;
    }
  }
}
