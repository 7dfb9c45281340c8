import { inMs } from '../../../common/durations.js';
import { PendingReply } from '../../../common/pending-reply.js';
import { LockStoreError } from '../../port/lock-store.js';
import type { PgClient } from './pg-client.js';
import { isReadOnly, lacksSchema, notConnected, postgresFailure } from './postgres-failure.js';
import type { OpenedClient, PostgresConnector } from './postgres-connector.js';
import { ReplyTimeout, pauseBeforeConnecting } from '../../port/times.js';
import { messageOf } from '../../port/store-failure.js';

/** What is sent as one statement, which is one transaction. */
export interface Statement {
  /** Under which it is prepared, where that can be. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** A row of whatever columns a statement has. */
export type Row = Readonly<Record<string, unknown>>;

export interface ConnectionListener {
  /** Makes a new connection ready; it counts as there when this has resolved. */
  prepare(client: PgClient): Promise<void>;
  /** Something is missing in the schema. Answers whether it is created when the next connection is made ready. */
  mendsSchema?(): boolean;
  /** It is there, and was not there before or when it was wanted. */
  back(): void;
}

/** A connection that is opened anew whenever it is lost. Nothing is sent on one that is down, and nothing twice. */
export class PostgresConnection {
  private opened: OpenedClient | undefined;
  private client: PgClient | undefined;
  private failure: Error | undefined;
  private isLate = false;
  private closed = false;
  private attempts = 0;
  private pause: NodeJS.Timeout | undefined;
  private readonly timeout: ReplyTimeout;

  constructor(
    private readonly connector: PostgresConnector,
    requestTimeout: number,
    private readonly listener: ConnectionListener,
  ) {
    this.timeout = new ReplyTimeout(requestTimeout, () => {
      this.opened?.cut(`no answer within ${inMs(requestTimeout)}`);
    });
  }

  get isReady(): boolean {
    return this.client !== undefined;
  }

  /** Rejects with a `LockStoreError` if the server is not there yet; it goes on trying. */
  async open(): Promise<void> {
    if (await this.connect()) return;
    this.isLate = true;
    throw notConnected(this.failure);
  }

  /** Why nothing can be sent; undefined if something can. */
  get trouble(): LockStoreError | undefined {
    return this.client === undefined ? notConnected(this.failure) : undefined;
  }

  /** The rows of the answer. Rejects with a `LockStoreError`. */
  send({ name, text, values }: Statement, isPrepared: boolean): PendingReply<readonly Row[]> {
    const reply = new PendingReply<readonly Row[]>();
    const { client } = this;
    if (client === undefined) {
      reply.reject(notConnected(this.failure));
      return reply;
    }
    this.timeout.start();
    const failed = (error: unknown): void => {
      this.timeout.stop();
      // A server that became a standby: the connection has to find the new primary. The statement is not sent again.
      if (isReadOnly(error)) this.opened?.cut('the server does not take writes');
      const isMended = lacksSchema(error) && this.listener.mendsSchema?.() === true;
      if (isMended) this.opened?.cut('something is missing in the schema');
      // PostgreSQL takes the next statement a moment after it has refused one.
      setImmediate(() => {
        reply.reject(postgresFailure(error, isMended));
      });
    };
    const statement = { ...(isPrepared && name !== undefined && { name }), text, values: [...values] };
    try {
      // Not by its promise, which costs more than the statement where asynchronous contexts are in use.
      client.query<Record<string, unknown>>(statement, (error, result) => {
        if (error !== null && error !== undefined) failed(error);
        else {
          this.timeout.stop();
          reply.resolve(result.rows);
        }
      });
    } catch (error) {
      // Of a user's stream, or of what watches pg: nobody knows what was written.
      this.opened?.cut('a statement could not be written');
      failed(error);
    }
    return reply;
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.pause);
    this.timeout.stop();
    const { opened, client } = this;
    this.opened = this.client = undefined;
    if (client === undefined) opened?.cut('closed');
    else opened?.leave();
  }

  /** Whether it is there now. */
  private async connect(): Promise<boolean> {
    const opened = this.openClient();
    if (opened === undefined) return false;
    const { client } = opened;
    this.opened = opened;
    let isDown = false;
    const down = (): void => {
      if (isDown) return;
      isDown = true;
      this.ended(opened);
    };
    client.on('error', (error: Error) => {
      this.failure = error;
    });
    client.on('end', down);
    this.timeout.start();
    try {
      await client.connect();
      await this.listener.prepare(client);
    } catch (error) {
      this.failure = error instanceof LockStoreError ? new Error(error.message) : (error as Error);
      opened.cut('not to be used');
      down();
      return false;
    } finally {
      this.timeout.stop();
    }
    if (this.closed) {
      opened.cut('closed');
      return false;
    }
    if (this.opened !== opened) return false;
    this.client = client;
    this.failure = undefined;
    this.attempts = 0;
    if (this.isLate) this.listener.back();
    this.isLate = true;
    return true;
  }

  /** Undefined if that failed, so that it is tried again: a file of a certificate may be there in a moment. */
  private openClient(): OpenedClient | undefined {
    try {
      return this.connector.open();
    } catch (error) {
      // What a user's `stream` throws need not be an error.
      this.failure = error instanceof Error ? error : new Error(messageOf(error));
      this.connectLater();
      return undefined;
    }
  }

  private ended(opened: OpenedClient): void {
    if (this.opened !== opened) return;
    this.opened = this.client = undefined;
    this.connectLater();
  }

  private connectLater(): void {
    if (this.closed) return;
    this.pause = setTimeout(() => void this.connect(), pauseBeforeConnecting(this.attempts++));
  }
}
