import { SUBSCRIBE_TIMEOUT } from '../../port/times.js';
import type { PgClient } from '../connection/pg-client.js';
import { PostgresConnection } from '../connection/postgres-connection.js';
import { quoted } from '../schema/migration.js';
import type { PostgresConnector } from '../connection/postgres-connector.js';

/** The name of a client's channel, the same as `tell()` of the schema makes. A hash could fail on hosts in FIPS mode. */
export function channelOf(client: string): string {
  return `lock_${client.slice(0, 22)}`;
}

export interface ChannelListener {
  message(text: string): void;
  resubscribed(): void;
  warn(message: string): void;
}

/**
 * The one LISTEN of a client (P11). It is opened before the first wait and kept; while it is down, waiters live by asking
 * again, and as soon as it is back they are told to, since grants may have been missed (P14).
 */
export class GrantChannel {
  private readonly connection: PostgresConnection | undefined;
  private opening: Promise<void> | undefined;
  private wasOpened = false;
  private warned = false;
  private isChecking = false;

  /** @param connector undefined where nothing can be pushed: waiters poll */
  constructor(
    private readonly name: string,
    connector: PostgresConnector | undefined,
    requestTimeout: number,
    private readonly listener: ChannelListener,
  ) {
    if (connector === undefined) return;
    this.connection = new PostgresConnection(connector, requestTimeout, {
      prepare: (client) => this.listen(client),
      back: () => {
        listener.resubscribed();
      },
    });
  }

  /** Whether it was opened, be it up at the moment or not. */
  get isOpen(): boolean {
    return this.connection === undefined || (this.wasOpened && this.opening === undefined);
  }

  /** Whether it is up; undefined if nobody has needed it yet, or nothing can be pushed. */
  get isUp(): boolean | undefined {
    return this.wasOpened ? this.connection?.isReady : undefined;
  }

  /** Opens it; resolves when the server has acknowledged it, or when that did not work at once. Never rejects. */
  open(): Promise<void> {
    const { connection } = this;
    if (connection === undefined) return Promise.resolve();
    if (this.wasOpened) return this.opening ?? Promise.resolve();
    this.wasOpened = true;
    this.opening = new Promise<void>((resolve) => {
      const settle = (): void => {
        clearTimeout(timeout);
        this.opening = undefined;
        resolve();
      };
      // A connection that hangs keeps nobody from asking; when it is there after all, they ask again.
      const timeout = setTimeout(settle, SUBSCRIBE_TIMEOUT);
      connection.open().then(settle, settle);
    });
    return this.opening;
  }

  /**
   * A grant arrived by asking that should have been pushed: the connection may be half open, which only a request without
   * an answer brings to light.
   */
  suspect(): void {
    if (this.isChecking || this.connection?.isReady !== true) return;
    this.isChecking = true;
    const done = (): void => {
      this.isChecking = false;
    };
    this.connection.send({ text: 'SELECT 1', values: [] }, false).then(done, done);
  }

  close(): void {
    this.connection?.close();
  }

  private async listen(client: PgClient): Promise<void> {
    client.on('notification', ({ channel, payload = '' }) => {
      if (channel === this.name) this.listener.message(payload);
    });
    await client.query(`LISTEN ${quoted(this.name)}`);
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    if (rows[0]?.pid === client.processID || this.warned) return;
    this.warned = true;
    this.listener.warn(
      'The connection to PostgreSQL on which grants are to be pushed (LISTEN) goes through a pooler such as PgBouncer, ' +
        'which may give it to others: waiters then poll once a second. Give postgresStore({ listen }) the address of ' +
        'the server itself, or listen: false if there is none.',
    );
  }
}
