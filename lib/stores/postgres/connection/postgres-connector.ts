import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LockOptionsError } from '../../../model/lock.errors.js';
import { checkObject, shown } from '../../../model/option-checks.js';
import { newPgClient, type PgClient, type PgClientOptions } from './pg-client.js';

/** A URL, or the options of pg's `Client`. */
export type PostgresConnectionOptions = string | PgClientOptions;

/** A client with the socket that it uses, which a client that got no answer can be cut off with. */
export interface OpenedClient {
  readonly client: PgClient;
  readonly cut: (why: string) => void;
  /** Says goodbye, so that the server does not log a lost connection. */
  readonly leave: () => void;
}

/** Opens connections to one server with settings of the lock's own. */
export interface PostgresConnector {
  /** `host:port/database`, for log lines; no secrets. */
  readonly address: string;
  readonly user: string;
  open(): OpenedClient;
}

/** How long an attempt to connect may take at most, ms. */
const CONNECT_TIMEOUT = 5_000;

/** @throws LockOptionsError unless pg can make something of it; without a connection */
export function postgresConnector(where: string, connection: unknown): PostgresConnector {
  const config = configOf(where, connection);
  const probe = probeOf(where, config);
  const port = String(probe.port);
  const address = probe.host.startsWith('/') ? `${probe.host} port ${port}` : `${probe.host}:${port}`;
  return {
    address: `${address}/${probe.database ?? ''}`,
    user: probe.user ?? '',
    open: () => openClient(config),
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
    return { connectionString: connection };
  }
  const config = checkObject(where, connection) as PgClientOptions;
  const port: unknown = config.port ?? 5_432;
  const number = Number(port);
  if (!Number.isInteger(number) || number < 1 || number > 65_535) {
    throw new LockOptionsError(`${where}: port must be a number from 1 to 65535; got ${shown(port)}.`);
  }
  if ('connect' in config || 'query' in config) {
    throw new LockOptionsError(
      `${where}: give the options that the client or pool was made with, not the client itself: ` +
        'locks need connections of their own.',
    );
  }
  return config;
}

/** Lets pg read the options, its environment variables included, without connecting: the user's `stream` would. */
function probeOf(where: string, config: PgClientOptions): PgClient {
  try {
    return newPgClient({ ...config, stream: () => new Socket() });
  } catch {
    // What pg says may quote the URL.
    throw new LockOptionsError(
      `${where} could not be read. Percent-encode special characters of the password, and check that files it names are there.`,
    );
  }
}

/** Throws what the user's `stream` throws, and what pg does about files of certificates that are not there. */
function openClient(config: PgClientOptions): OpenedClient {
  const socket = config.stream?.() ?? new Socket();
  const client = newClientOn(socket, config);
  return {
    client,
    cut: (why) => socket.destroy(new Error(why)),
    leave: () => {
      client.end().catch(() => undefined);
      // A server that stands still does not say goodbye, too: it keeps no process from ending.
      if (socket instanceof Socket) socket.unref();
    },
  };
}

function newClientOn(socket: Duplex, config: PgClientOptions): PgClient {
  const { connectionTimeoutMillis = CONNECT_TIMEOUT, ...others } = config;
  try {
    return newPgClient({
      application_name: 'nestjs-distributed-lock',
      keepAlive: true,
      ...others,
      // pg takes 0 for no end.
      connectionTimeoutMillis: Math.min(connectionTimeoutMillis || CONNECT_TIMEOUT, CONNECT_TIMEOUT),
      stream: () => socket,
      // Whoever waits too long is cut off by us: pg would go on with the connection, and so would the statement.
      query_timeout: 0,
      statement_timeout: false,
      pipeline: false,
    });
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
