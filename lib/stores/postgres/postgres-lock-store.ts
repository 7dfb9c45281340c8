import type { LockBoard, LockStore, LockStoreClient, LockStoreSession } from '../port/lock-store.js';
import { PushedGrants } from '../port/pushed-grants.js';
import { requestTimeoutFor } from '../port/times.js';
import { GrantChannel } from './grant-channel.js';
import { LockCalls } from './lock-calls.js';
import { PostgresConnection, type PgClient, type Row, type Statement } from './postgres-connection.js';
import {
  resolvePostgresOptions,
  type PostgresStoreOptions,
  type ResolvedPostgresOptions,
} from './postgres-options.js';
import { RequestQueue } from './request-queue.js';
import { quoted } from './schema.js';
import { prepareConnection, verifyDatabase, type CheckResult } from './start-check.js';

/** How often a client removes the leftovers of crashed processes, ms. */
const SWEEP_INTERVAL = 60_000;
/** The shortest time between two attempts of a client to repair the schema, ms: they may not help. */
const MENDING_PAUSE = 1_000;
/** The same while the user lacks the right to do so, ms. */
const REFUSED_PAUSE = 15_000;

/**
 * A store of locks in a PostgreSQL database (13 or newer), for
 * `DistributedLockModule.forRoot({ store: postgresStore({ … }) })`. It connects when the module starts.
 *
 * @throws LockOptionsError for options that can't work
 */
export function postgresStore(options: PostgresStoreOptions): LockStore {
  const resolved = resolvePostgresOptions(options);
  const { connector, schema, keyPrefix } = resolved;
  const prefix = keyPrefix === '' ? '' : `, prefix ${JSON.stringify(keyPrefix)}`;
  return {
    name: `PostgreSQL at ${connector.address}`,
    place: `schema ${JSON.stringify(schema)}${prefix}`,
    open: (client) => openPostgres(resolved, client),
  };
}

/** One client's connections to PostgreSQL, and the requests on them. */
function openPostgres(options: ResolvedPostgresOptions, client: LockStoreClient): LockStoreSession {
  const { connector, listener, schema, keyPrefix } = options;
  const requestTimeout = requestTimeoutFor(client.watchdogTimeout);
  let checked: CheckResult | undefined;
  /** Whether the next connection creates the schema first. */
  let lacksSchema = options.createsSchema;
  let mendedAt = -Infinity;
  let sweeping: NodeJS.Timeout | undefined;

  const connection = new PostgresConnection(connector, requestTimeout, {
    mendsSchema,
    prepare,
    back: () => client.reconnected(),
  });
  const calls = new LockCalls(schema, keyPrefix);
  const run: LockCalls['run'] = (keys, requests) => calls.run(keys, requests);
  const queue = new RequestQueue(connection, run, (owner) => client.isWanted(owner));
  const pushed = new PushedGrants(client);
  const channel =
    listener && new GrantChannel(client, listener, requestTimeout, (text) => pushed.receive(text));

  /** Prepares a connection for locks, and logs the warnings of the first one. */
  async function prepare(opened: PgClient): Promise<boolean> {
    const before = checked;
    checked = await prepareConnection(opened, options, requestTimeout, lacksSchema);
    lacksSchema = false;
    const { warnings, refusal, isDirect } = checked;
    const news =
      before === undefined
        ? warnings
        : before.refusal === undefined && refusal !== undefined
          ? [refusal]
          : [];
    for (const warning of news) client.warn(warning);
    if (refusal !== undefined) mendedAt = client.now();
    return isDirect;
  }

  function mendsSchema(): boolean {
    const now = client.now();
    const pause = checked?.refusal === undefined ? MENDING_PAUSE : REFUSED_PAUSE;
    if (!lacksSchema && options.createsSchema && now - mendedAt > pause) {
      lacksSchema = true;
      mendedAt = now;
    }
    return lacksSchema;
  }

  /** Removes leftovers of crashed processes from keys that are no longer requested. */
  function sweepLater(): void {
    const sweep = (): void => {
      if (connection.isReady) queue.send(calls.sweep()).catch(() => undefined);
      sweepLater();
    };
    sweeping = setTimeout(sweep, SWEEP_INTERVAL * (0.75 + Math.random() / 2));
    sweeping.unref();
  }

  return {
    get description() {
      return checked?.description;
    },
    board: postgresBoard(schema, keyPrefix, (statement) => queue.send(statement)),
    start: async () => {
      sweepLater();
      try {
        await connection.open();
      } finally {
        channel?.open();
      }
    },
    acquire: (request) => {
      if (!request.wait) return queue.call(calls.acquire(request)).then(({ reply }) => reply);
      return pushed.ask(
        request,
        () => queue.call(calls.acquire(request)),
        () => channel?.suspect(),
      );
    },
    release: (request) => {
      pushed.forget(request.owner);
      return queue.call(calls.release(request));
    },
    whenSent: () => queue.whenSent(),
    renew: async (requests) => calls.toRenewReplies(await queue.send(calls.renew(requests), true)),
    reserve: (request) => queue.call(calls.reserve(request)),
    raiseTokens: async (floor) => void (await queue.send(calls.raiseTokens(floor))),
    inspect: async (key) => await queue.call(calls.inspect(key)),
    breakHold: async (key, hold) => await queue.call(calls.breakHold(key, hold)),
    listKeys: async (request) => calls.toListedKeys(await queue.send(calls.listKeys(request)), request),
    verify: () => verifyDatabase((text, values = []) => queue.send({ text, values }), options),
    get isCutOff() {
      return !connection.isReady;
    },
    connections: () => {
      const requests = { name: `${connector.address} requests`, isOpen: connection.isReady };
      if (channel === undefined || listener === undefined) return [requests];
      return [requests, { name: `${listener.address} messages`, isOpen: channel.isUp }];
    },
    close: () => {
      clearTimeout(sweeping);
      channel?.close();
      queue.close();
      connection.close();
      return Promise.resolve();
    },
  };
}

/**
 * The board: a row for each text, while it lasts.
 *
 * @param place separates applications that use the same schema, but different locks
 */
function postgresBoard(
  schema: string,
  place: string,
  send: (statement: Statement) => Promise<readonly Row[]>,
): LockBoard {
  const s = quoted(schema);
  // Quoted, so that no place is the beginning of another, and PostgreSQL can store it as a text.
  const nameOf = (name: string): string => `${JSON.stringify(place)} ${name}`;
  /** The mark of viewers: no process has this name. */
  const watched = nameOf('');
  const put = async (name: string, content: string, ttl: number): Promise<void> => {
    const text = `INSERT INTO ${s}.board AS b VALUES ($1, $2, ${s}.clock() + $3::bigint * 1000)
      ON CONFLICT (name) DO UPDATE SET content = excluded.content, ends = excluded.ends`;
    await send({ text, values: [name, content, ttl] });
  };
  return {
    watch: (ttl) => put(watched, '', ttl),
    isWatched: async () => {
      const text = `SELECT FROM ${s}.board b WHERE b.name = $1 AND b.ends > ${s}.clock()`;
      return (await send({ text, values: [watched] })).length > 0;
    },
    publish: (name, text, ttl) => put(nameOf(name), text, ttl),
    read: async () => {
      const text = `SELECT b.content FROM ${s}.board b
      WHERE starts_with(b.name, $1) AND b.name <> $1 AND b.ends > ${s}.clock()`;
      const rows = await send({ text, values: [watched] });
      return rows.map(({ content }) => String(content));
    },
  };
}
