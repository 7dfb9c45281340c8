import { atExit } from '../../port/at-exit.js';
import { PendingReply } from '../../../common/pending-reply.js';
import type { LockStoreError } from '../../port/lock-store.js';
import { storeFailure } from '../../port/store-failure.js';
import type { Row, Statement } from '../connection/postgres-connection.js';

/** Something that is asked of the functions in the database. Several share a statement. */
export interface Call<Reply> {
  /** As they are written in the database. */
  readonly keys: readonly string[];
  readonly words: object;
  readonly decode: (reply: unknown) => Reply;
  /** Whether it is sent also when the process ends: nobody else can do that. */
  readonly givesBack?: true;
}

/** Of the connection, what sends. */
export interface Sender {
  /** Why nothing can be sent. */
  readonly trouble: LockStoreError | undefined;
  send(statement: Statement): PendingReply<readonly Row[]>;
}

/** Keys that one transaction locks at most: the server has room for some thousands in all. */
const MOST_KEYS = 64;

class Item extends PendingReply<unknown> {
  constructor(
    readonly call: Call<unknown> | undefined,
    readonly statement: Statement | undefined,
  ) {
    super();
  }
}

/**
 * Sends one statement at a time, in the order in which they were asked for. What is asked meanwhile goes together in the
 * next: a commit costs far more than what is done in it. So does what is asked in one tick: a lock that a caller gives back
 * and the one that it asks for next are one transaction. What was not sent when the connection is lost was never sent.
 */
export class RequestQueue {
  private items: Item[] = [];
  private isBusy = false;
  private isScheduled = false;
  /** How many requests were made so far, and how many of these were sent, or will not be. */
  private asked = 0;
  private sent = 0;
  /** Of those who wait until so many have been sent, the first to be called first. */
  private readonly waiting: { readonly count: number; readonly done: () => void }[] = [];
  private readonly stopAtExit: () => void;

  /** @param run the statement that carries out calls, given their keys and words */
  constructor(
    private readonly sender: Sender,
    private readonly run: (keys: readonly string[], words: string) => Statement,
  ) {
    // Callers were told that what is given back at the end of this tick is on its way. What is asked for has nobody any more.
    this.stopAtExit = atExit(() => {
      if (!this.isScheduled) return;
      this.items = this.items.filter(({ call }) => call?.givesBack);
      this.flush();
    });
  }

  /** Nothing is asked any more. */
  close(): void {
    this.stopAtExit();
  }

  /** Resolves when all that was asked for so far has been sent, or will not be; undefined when it has, or surely will be. */
  whenSent(): Promise<void> | undefined {
    if (this.sent === this.asked || (!this.isBusy && this.sizeOfNext() === this.items.length))
      return undefined;
    return new Promise((resolve) => {
      this.waiting.push({ count: this.asked, done: resolve });
    });
  }

  call<Reply>(call: Call<Reply>): PendingReply<Reply> {
    const item = new Item(call, undefined);
    this.add(item);
    // What it resolves with comes from the call's own `decode`.
    return item as unknown as PendingReply<Reply>;
  }

  /** A statement by itself. */
  async send(statement: Statement): Promise<readonly Row[]> {
    const item = new Item(undefined, statement);
    this.add(item);
    return (await item) as readonly Row[];
  }

  private add(item: Item): void {
    this.asked += 1;
    this.items.push(item);
    if (!this.isBusy) this.schedule();
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    process.nextTick(this.flush);
  }

  private readonly flush = (): void => {
    this.isScheduled = false;
    const { trouble } = this.sender;
    if (trouble !== undefined) {
      const unsent = this.items.splice(0);
      for (const item of unsent) item.reject(trouble);
      this.countSent(unsent.length);
      return;
    }
    const batch = this.nextBatch();
    if (batch.length > 0) this.carryOut(batch);
  };

  /** The first statement, or the calls up to the next one. */
  private nextBatch(): readonly Item[] {
    return this.items.splice(0, this.sizeOfNext());
  }

  private sizeOfNext(): number {
    let count = 0;
    let keys = 0;
    for (const { call } of this.items) {
      if (call === undefined) break;
      keys += call.keys.length;
      if (count > 0 && keys > MOST_KEYS) break;
      count += 1;
    }
    return Math.max(count, 1);
  }

  private carryOut(batch: readonly Item[]): void {
    this.isBusy = true;
    const answered = (tell: () => void): void => {
      this.isBusy = false;
      // What those who are told now ask for goes with what is there already.
      if (this.items.length > 0) this.schedule();
      tell();
    };
    this.sendBatch(batch, answered);
    this.countSent(batch.length);
  }

  /** @param answered given what is to be done with the answers */
  private sendBatch(batch: readonly Item[], answered: (tell: () => void) => void): void {
    this.sender.send(this.statementFor(batch)).listen(
      (rows) => {
        answered(() => {
          resolveAll(batch, rows);
        });
      },
      (error) => {
        const failure = storeFailure(error);
        // The transaction was undone: one request's trouble must not become that of the others.
        if (batch.length > 1 && isOfOne(failure)) {
          this.sent -= batch.length;
          this.sendEach(batch, answered);
        } else {
          answered(() => {
            rejectAll(batch, failure);
          });
        }
      },
    );
  }

  /** One after the other, up to one that may succeed later: each could have to wait as long as that one. */
  private sendEach(batch: readonly Item[], answered: (tell: () => void) => void): void {
    const [item, ...others] = batch;
    if (item === undefined) {
      answered(() => undefined);
      return;
    }
    this.sender.send(this.statementFor([item])).listen(
      (rows) => {
        this.sendEach(others, answered);
        resolveAll([item], rows);
      },
      (error) => {
        const failure = storeFailure(error);
        if (isOfOne(failure) && failure.retryable) {
          this.countSent(others.length);
          answered(() => {
            rejectAll(batch, failure);
          });
          return;
        }
        this.sendEach(others, answered);
        rejectAll([item], failure);
      },
    );
    this.countSent(1);
  }

  private statementFor(batch: readonly Item[]): Statement {
    const [first] = batch;
    if (first?.statement !== undefined) return first.statement;
    const calls = batch.flatMap(({ call }) => call ?? []);
    const keys = [...new Set(calls.flatMap(({ keys: some }) => some))];
    return this.run(keys, JSON.stringify(calls.map(({ words }) => words)));
  }

  private countSent(count: number): void {
    this.sent += count;
    while ((this.waiting[0]?.count ?? Infinity) <= this.sent) this.waiting.shift()?.done();
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
      if (!Array.isArray(replies)) throw new Error('PostgreSQL answered something else than was asked');
      item.resolve(item.call.decode(replies[index]));
    } catch (error) {
      item.reject(storeFailure(error));
    }
  });
}

function rejectAll(batch: readonly Item[], failure: LockStoreError): void {
  for (const item of batch) item.reject(failure);
}

/** Whether it is an answer to what was asked: nothing of it was done, and something else may be. */
function isOfOne({ inDoubt, unreachable }: LockStoreError): boolean {
  return !inDoubt && !unreachable;
}
