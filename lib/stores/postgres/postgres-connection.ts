import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import { inMs } from '../../common/durations.js';
import { Deferred } from '../../common/deferred.js';
import { LockOptionsError } from '../../model/lock.errors.js';
import { refuseMissingPeer } from '../../model/missing-peer.js';
import { check, checkObject } from '../../model/option-checks.js';
import { KeptConnection, type Link } from '../port/kept-connection.js';
import type { LockStoreError } from '../port/lock-store.js';
import { KEEP_ALIVE, ReplyTimeout } from '../port/times.js';
import { ownOptions, withoutTimeouts } from './own-options.js';
import { isReadOnly, lacksSchema, notConnected, postgresFailure } from './postgres-failure.js';

/** One statement, which is one transaction. */
export interface Statement {
  /** The name of the prepared statement, if the connection allows prepared statements. */
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export type Row = Readonly<Record<string, unknown>>;

export interface ConnectionListener {
  /** Prepares a new connection. Resolves with whether statements may be prepared on it. */
  prepare(client: PgClient): Promise<boolean>;
  /** The schema is incomplete. Returns whether the preparation of the next connection repairs it. */
  mendsSchema?(): boolean;
  /** The connection is ready, after it was lost or could not be opened at first. */
  back(): void;
}

/** A connection that reconnects. Statements fail at once while it is down, and none is sent twice. */
export class PostgresConnection extends KeptConnection<PostgresConnector, OpenedClient> {
  private readonly timeout: ReplyTimeout;
  private preparesStatements = false;

  constructor(
    connector: PostgresConnector,
    requestTimeout: number,
    private readonly owner: ConnectionListener,
  ) {
    super([connector], { lost: () => undefined, back: () => owner.back() });
    this.timeout = new ReplyTimeout(requestTimeout, () =>
      this.reconnect(`no answer within ${inMs(requestTimeout)}`),
    );
  }

  get isReady(): boolean {
    return this.ready !== undefined;
  }

  notConnected(): LockStoreError {
    return notConnected(this.failure);
  }

  /** Replies with the rows, or rejects with a `LockStoreError`. */
  send({ name, text, values }: Statement): Deferred<readonly Row[]> {
    const reply = new Deferred<readonly Row[]>();
    const { ready } = this;
    if (ready === undefined) {
      reply.reject(this.notConnected());
      return reply;
    }
    this.timeout.start();
    const failed = (error: unknown): void => {
      this.timeout.stop();
      // The server became a standby: the connection has to find the new primary.
      if (isReadOnly(error)) this.reconnect('the server does not take writes');
      const isMended = lacksSchema(error) && this.owner.mendsSchema?.() === true;
      if (isMended) this.reconnect('something is missing in the schema');
      // After an error, PostgreSQL is ready for the next statement a moment later.
      setImmediate(() => reply.reject(postgresFailure(error, isMended)));
    };
    const isPrepared = this.preparesStatements;
    const statement = { ...(isPrepared && name !== undefined && { name }), text, values: [...values] };
    try {
      // Not by a promise, which costs more than the statement where asynchronous contexts are in use.
      ready.client.query<Record<string, unknown>>(statement, (error, result) => {
        if (error !== null && error !== undefined) failed(error);
        else {
          this.timeout.stop();
          reply.resolve(result.rows);
        }
      });
    } catch (error) {
      // Thrown by a user's stream or an instrumentation of pg: it is unknown what was written.
      this.reconnect('a statement could not be written');
      failed(error);
    }
    return reply;
  }

  close(): void {
    this.timeout.stop();
    const { isReady } = this;
    const opened = this.stop();
    if (isReady) opened?.leave();
    else opened?.cut(new Error('closed'));
  }

  protected connect({ open }: PostgresConnector, onEnd: (cause: Error) => void): OpenedClient {
    return open(onEnd);
  }

  protected async prepare({ client }: OpenedClient): Promise<void> {
    this.timeout.start();
    try {
      await client.connect();
      this.preparesStatements = await this.owner.prepare(client);
    } finally {
      this.timeout.stop();
    }
  }
}

/** A URL, or the options of pg's `Client`. */
export type PostgresConnectionOptions = string | PgClientOptions;

/** A client and its socket. */
interface OpenedClient extends Link {
  readonly client: PgClient;
  /** Ends the connection properly, so that the server does not log a lost one. */
  readonly leave: () => void;
}

/** Opens connections to one server. */
export interface PostgresConnector {
  /** `host:port/database`, for log lines; no secrets. */
  readonly address: string;
  /** Calls back when the connection has ended. */
  readonly open: (onEnd: (cause: Error) => void) => OpenedClient;
}

/** The limit of a connection attempt, ms. */
const CONNECT_TIMEOUT = 5_000;

/** @throws LockOptionsError unless pg is installed and accepts the options, which is checked without connecting */
export function postgresConnector(where: string, connection: unknown): PostgresConnector {
  const pg = loadPg();
  const config = configOf(where, connection);
  const probe = probeOf(where, pg.Client, config);
  const port = String(probe.port);
  const address = probe.host.startsWith('/') ? `${probe.host} port ${port}` : `${probe.host}:${port}`;
  return {
    address: `${address}/${probe.database ?? ''}`,
    open: (onEnd) => openClient(pg, config, onEnd),
  };
}

function configOf(where: string, connection: unknown): PgClientOptions {
  if (typeof connection === 'string') {
    if (!/^postgres(ql)?:\/\//.test(connection)) {
      throw new LockOptionsError(
        `${where} must be a URL such as 'postgres://user:password@localhost:5432/shop' or options of pg's Client; ` +
          'got a string that does not start with postgres:// or postgresql://.',
      );
    }
    if (/^[^?]*\/\/[^/?]*,[^/?@]*(?:[/?]|$)/.test(connection)) {
      throw new LockOptionsError(
        `${where} names several servers, of which pg can't choose one. Give one address that leads to the primary.`,
      );
    }
    return { connectionString: connection };
  }
  const config = checkObject(where, connection) as PgClientOptions;
  const port: unknown = config.port ?? 5_432;
  const number = Number(port);
  const isPort = Number.isInteger(number) && number >= 1 && number <= 65_535;
  check(isPort, where, 'port must be a number from 1 to 65535', port);
  if ('connect' in config || 'query' in config) {
    throw new LockOptionsError(
      `${where}: give the options that the client or pool was created with, not the client itself: ` +
        'locks need separate connections.',
    );
  }
  return config;
}

/** Lets pg read the options and its environment variables. Without the user's `stream`, which would connect. */
function probeOf(where: string, Client: PgClientClass, config: PgClientOptions): PgClient {
  try {
    return new Client({ ...config, stream: () => new Socket() });
  } catch {
    // The message of pg may quote the URL.
    throw new LockOptionsError(
      `${where} could not be read. Percent-encode special characters of the password, and check that the files it names exist.`,
    );
  }
}

/** Throws the errors of the user's `stream`, and those of pg if certificate files are missing. */
function openClient(
  { Client, defaults }: Pg,
  config: PgClientOptions,
  onEnd: (cause: Error) => void,
): OpenedClient {
  const { connectionTimeoutMillis = CONNECT_TIMEOUT, ...others } = config;
  const socket = config.stream?.() ?? new Socket();
  try {
    const { ssl } = others;
    const client = new Client({
      application_name: 'nestjs-distributed-lock',
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE,
      ...others,
      // Read here: a getter that throws while pg connects would end the process. `pg` hides the key from copies.
      ...(ssl instanceof Object && { ssl: { ...ssl, ...('key' in ssl && { key: ssl.key }) } }),
      // For pg, 0 means no limit.
      connectionTimeoutMillis: Math.min(connectionTimeoutMillis || CONNECT_TIMEOUT, CONNECT_TIMEOUT),
      stream: () => socket,
      connectionString: withoutTimeouts(config.connectionString),
      ...ownOptions(defaults),
    });
    let cause = new Error('the connection was closed');
    client.on('error', (error: Error) => (cause = error));
    client.on('end', () => onEnd(cause));
    return {
      client,
      cut: (why) => socket.destroy(why),
      leave: () => {
        client.end().catch(() => undefined);
        // A stopped server does not reply: it must not keep the process alive.
        if (socket instanceof Socket) socket.unref();
      },
    };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/**
 * The usual options of pg's `Client`; all others are passed on. Declared here so that an application without the types
 * of pg compiles.
 */
export interface PgClientOptions {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  /** Or a function that returns it, for example for tokens that expire. */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | ConnectionOptions | undefined;
  /** For other kinds of sockets, such as those of a cloud provider's connector. */
  readonly stream?: (() => Duplex | undefined) | undefined;
  readonly application_name?: string | undefined;
  /** ms; at most 5 000. */
  readonly connectionTimeoutMillis?: number | undefined;
  readonly [option: string]: unknown;
}

interface PgResult<Row> {
  readonly rows: Row[];
}

/** The used part of pg's `Client`. */
export interface PgClient {
  readonly host: string;
  readonly port: number;
  readonly database?: string | undefined;
  /** As reported by the server, or by a pooler in front of it, at the start of the connection. */
  readonly processID: number | null;
  connect(): Promise<unknown>;
  query<Row>(text: string, values?: readonly unknown[]): Promise<PgResult<Row>>;
  query<Row>(
    query: { name?: string; text: string; values: readonly unknown[] },
    callback: (error: Error | null | undefined, result: PgResult<Row>) => void,
  ): void;
  end(): Promise<void>;
  on(event: 'error', listener: (error: Error) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'notification', listener: (message: { channel: string; payload?: string }) => void): unknown;
}

type PgClientClass = new (options: PgClientOptions) => PgClient;

interface Pg {
  readonly Client: PgClientClass;
  readonly defaults: Readonly<Record<string, unknown>>;
}

function loadPg(): Pg {
  try {
    return require('pg') as Pg;
  } catch (error) {
    return refuseMissingPeer('postgresStore', 'pg', error);
  }
}
