import type { LockStoreClient } from '../port/lock-store.js';
import { SUBSCRIBE_TIMEOUT } from '../port/times.js';
import { PostgresConnection, type PgClient, type PostgresConnector } from './postgres-connection.js';
import { quoted } from './schema.js';

/**
 * The single LISTEN of a client, opened before the first wait and kept. While it is down, waiters poll; when it
 * is back they request again, since grants may have been missed.
 */
export class GrantChannel {
  private readonly connection: PostgresConnection | undefined;
  private opening: Promise<void> | undefined;
  private wasOpened = false;
  private warned = false;
  private isChecking = false;

  /** @param connector undefined if nothing can be pushed: waiters poll */
  constructor(
    private readonly client: LockStoreClient,
    connector: PostgresConnector | undefined,
    requestTimeout: number,
    private readonly onMessage: (text: string) => void,
  ) {
    if (connector === undefined) return;
    this.connection = new PostgresConnection(connector, requestTimeout, {
      prepare: (opened) => this.listen(opened),
      back: () => {
        client.pollNow();
      },
    });
  }

  /** Whether opening it has finished, successfully or not. */
  get isOpen(): boolean {
    return this.connection === undefined || (this.wasOpened && this.opening === undefined);
  }

  /** Whether it is up; undefined if it has not been needed yet, or nothing can be pushed. */
  get isUp(): boolean | undefined {
    return this.wasOpened ? this.connection?.isReady : undefined;
  }

  /** Opens it; resolves when the server has acknowledged it, or the first attempt has failed. Never rejects. */
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
      // Waiters need not wait for a connection that hangs: once it is ready, they repeat their requests.
      const timeout = setTimeout(settle, SUBSCRIBE_TIMEOUT);
      connection.open().then(settle, settle);
    });
    return this.opening;
  }

  /** A grant should have been pushed: the connection may be half open, which only a request without a reply reveals. */
  suspect(): void {
    if (this.isChecking || this.connection?.isReady !== true) return;
    this.isChecking = true;
    const done = (): void => {
      this.isChecking = false;
    };
    this.connection.send({ text: 'SELECT 1', values: [] }).then(done, done);
  }

  close(): void {
    this.connection?.close();
  }

  private async listen(opened: PgClient): Promise<boolean> {
    // The name that `tell()` of the schema uses. Not a hash, which could fail on hosts in FIPS mode.
    const name = `lock_${this.client.id.slice(0, 22)}`;
    opened.on('notification', ({ channel, payload = '' }) => {
      if (channel === name) this.onMessage(payload);
    });
    await opened.query(`LISTEN ${quoted(name)}`);
    const { rows } = await opened.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    const isDirect = rows[0]?.pid === opened.processID;
    if (isDirect || this.warned) return isDirect;
    this.warned = true;
    this.client.warn(
      'The connection to PostgreSQL for pushed grants (LISTEN) goes through a pooler such as PgBouncer, ' +
        'which may assign it to other clients: waiters then poll once a second. Give postgresStore({ listen }) the address of ' +
        'the server itself, or listen: false if there is none.',
    );
    return isDirect;
  }
}
