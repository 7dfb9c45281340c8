import type { LockStoreClient } from '../port/lock-store.js';
import { PostgresConnection, type PgClient, type PostgresConnector } from './postgres-connection.js';
import { quoted } from './schema.js';

/**
 * The single LISTEN of a client. While it is down, waiters poll; when it is up they request again, since grants may
 * have been missed.
 */
export class GrantChannel {
  private readonly connection: PostgresConnection;
  private warned = false;
  private isChecking = false;

  constructor(
    private readonly client: LockStoreClient,
    connector: PostgresConnector,
    requestTimeout: number,
    private readonly onMessage: (text: string) => void,
  ) {
    this.connection = new PostgresConnection(connector, requestTimeout, {
      prepare: (opened) => this.listen(opened),
      back: () => client.pollNow(),
    });
  }

  get isUp(): boolean {
    return this.connection.isReady;
  }

  /** In the background: until it is up, waiters poll. */
  open(): void {
    // The connection keeps trying.
    this.connection.open().then(
      () => this.client.pollNow(),
      () => undefined,
    );
  }

  /** A grant should have been pushed: the connection may be half open, which only a request without a reply reveals. */
  suspect(): void {
    if (this.isChecking || !this.isUp) return;
    this.isChecking = true;
    const done = (): void => {
      this.isChecking = false;
    };
    this.connection.send({ text: 'SELECT 1', values: [] }).then(done, done);
  }

  close(): void {
    this.connection.close();
  }

  private async listen(opened: PgClient): Promise<boolean> {
    // The name that `tell()` of the schema uses. Not a hash, which could fail on hosts in FIPS mode.
    const name = `lock_${this.client.id.slice(0, 22)}`;
    opened.on('notification', ({ channel, payload = '' }) => {
      if (channel === name) this.onMessage(payload);
    });
    await opened.query(`LISTEN ${quoted(name)}`);
    const { rows } = await opened.query<{ pid: number }>('SELECT to_jsonb(pg_backend_pid()) AS pid');
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
