import { Deferred } from '../../common/deferred.js';
import { atExit } from '../port/at-exit.js';
import type { OwnerId } from '../port/lock-store.js';
import type { TimedAcquireReply } from '../port/pushed-grants.js';
import { Outbox } from '../port/outbox.js';
import { storeFailure } from '../port/store-failure.js';
import type { PostgresConnection, Row, Statement } from './postgres-connection.js';

/** A request to the functions in the database. Several can be one statement. */
export interface Call<Reply> {
  /** The name in the database. */
  readonly key: string;
  readonly request: object;
  /** Omitted if the reply needs no decoding. */
  readonly decode?: (reply: unknown) => Reply;
  /** Whether it is sent even when the process ends. */
  readonly isRelease?: true;
  /** The owner that it queues, if it does: not sent once the caller has left. */
  readonly waiter?: OwnerId | undefined;
}

/** The most keys that one transaction locks: the server has room for some thousands in total. */
const MOST_KEYS = 64;

const CANCELLED: TimedAcquireReply = { reply: { outcome: 'cancelled' }, serverTime: undefined };

class Item extends Deferred<unknown> {
  /** Resolves when it was sent, or will not be; if somebody waits for that. */
  sent: Deferred<void> | undefined;

  constructor(
    readonly call: Call<unknown> | undefined,
    readonly statement: Statement | undefined,
    readonly isRenewal = false,
  ) {
    super();
  }
}

/**
 * Sends one statement at a time, in the order of the calls. Calls that arrive meanwhile are combined in the next
 * statement, since a commit costs far more than the work in it. So are the calls of one tick: a release and the
 * caller's next request are one transaction. Renewals go first. Calls that were not sent when the connection is lost, or
 * when their caller leaves, are never sent.
 */
export class RequestQueue {
  private items: Item[] = [];
  /** One statement at a time. */
  private readonly outbox = new Outbox(1, (ended) => this.sendNext(ended));
  private readonly stopAtExit: () => void;

  /**
   * @param run returns the statement that carries out calls, given their keys and requests
   * @param isWanted whether a caller still waits under this owner
   */
  constructor(
    private readonly connection: Pick<PostgresConnection, 'send'>,
    private readonly run: (keys: readonly string[], requests: string) => Statement,
    private readonly isWanted: (owner: OwnerId) => boolean,
  ) {
    // Callers already see locks as released that were released in the last tick. Other requests no longer have a caller.
    this.stopAtExit = atExit(() => {
      this.items = this.items.filter(({ call }) => call?.isRelease);
      this.outbox.flush();
    });
  }

  close(): void {
    this.stopAtExit();
  }

  /** Resolves when all calls so far were sent, or will not be; undefined if they were, or are part of the next flush. */
  whenSent(): Promise<void> | undefined {
    const last = this.items.at(-1);
    if (last === undefined || (!this.outbox.isFull && this.sizeOfNext() === this.items.length))
      return undefined;
    last.sent ??= new Deferred();
    return last.sent.promise;
  }

  call<Reply>(call: Call<Reply>): Deferred<Reply> {
    const item = new Item(call, undefined);
    this.add(item);
    // It resolves with the result of the call's `decode`.
    return item as unknown as Deferred<Reply>;
  }

  /** Sends a separate statement. */
  async send(statement: Statement, isRenewal = false): Promise<readonly Row[]> {
    const item = new Item(undefined, statement, isRenewal);
    this.add(item);
    return (await item) as readonly Row[];
  }

  private add(item: Item): void {
    const firstOther = item.isRenewal ? this.items.findIndex(({ isRenewal }) => !isRenewal) : -1;
    if (firstOther === -1) this.items.push(item);
    else void this.items.splice(firstOther, 0, item);
    this.outbox.schedule();
  }

  private sendNext(ended: () => void): boolean {
    let next: readonly Item[] = [];
    while (next.length === 0 && this.items.length > 0) {
      next = this.items.splice(0, this.sizeOfNext()).filter((item) => !this.isLeft(item));
    }
    if (next.length > 0) this.sendParts([next], ended);
    return next.length > 0;
  }

  /** Whether the caller has left, who is then told so. */
  private isLeft(item: Item): boolean {
    const waiter = item.call?.waiter;
    if (waiter === undefined || this.isWanted(waiter)) return false;
    item.sent?.resolve();
    item.resolve(CANCELLED);
    return true;
  }

  /** The first statement alone, or the calls up to the next statement. */
  private sizeOfNext(): number {
    let count = 0;
    for (const { call } of this.items) {
      if (call === undefined || count === MOST_KEYS) break;
      count += 1;
    }
    return Math.max(count, 1);
  }

  /** Sends the parts of a batch one after the other. */
  private sendParts([part, ...others]: readonly (readonly Item[])[], ended: () => void): void {
    if (part === undefined) {
      // Calls that callers make now are combined in the next statement with those already here.
      ended();
      return;
    }
    this.connection.send(this.statementFor(part)).listen(
      (rows) => {
        this.sendParts(others, ended);
        resolveAll(part, rows);
      },
      (error) => {
        const failure = storeFailure(error);
        const isRejected = !failure.inDoubt && !failure.unreachable;
        if (isRejected && part.length > 1) {
          // The transaction was rolled back: the failure of one call must not fail the others.
          this.sendParts(
            part.map((item) => [item]),
            ended,
          );
          return;
        }
        // Each further call might take as long to fail as this one.
        const unsent = isRejected && failure.retryable ? others.flat() : [];
        this.sendParts(unsent.length === 0 ? others : [], ended);
        for (const item of [...part, ...unsent]) item.reject(failure);
      },
    );
    for (const { sent } of part) sent?.resolve();
  }

  private statementFor(batch: readonly Item[]): Statement {
    const [first] = batch;
    if (first?.statement !== undefined) return first.statement;
    const calls = batch.flatMap(({ call }) => call ?? []);
    const keys = new Set(calls.map(({ key }) => key));
    return this.run([...keys], JSON.stringify(calls.map(({ request }) => request)));
  }
}

function resolveAll(batch: readonly Item[], rows: readonly Row[]): void {
  const replies = rows[0]?.['replies'];
  batch.forEach((item, index) => {
    try {
      if (item.call === undefined) {
        item.resolve(rows);
        return;
      }
      if (!Array.isArray(replies)) throw new Error('PostgreSQL sent an unexpected reply');
      const { decode } = item.call;
      item.resolve(decode === undefined ? replies[index] : decode(replies[index]));
    } catch (error) {
      item.reject(storeFailure(error));
    }
  });
}
