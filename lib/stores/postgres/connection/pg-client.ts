import type { Duplex } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';
import pg from 'pg';

/**
 * Options of pg's `Client`, of which these are the usual ones; whatever else pg takes is passed on. Declared here, so that
 * an application without the types of pg can be compiled.
 */
export interface PgClientOptions {
  readonly connectionString?: string | undefined;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  /** Or a function that gives it, such as for tokens that expire. */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  readonly database?: string | undefined;
  readonly ssl?: boolean | ConnectionOptions | undefined;
  /** For sockets of another kind, such as those of a cloud provider's connector. */
  readonly stream?: (() => Duplex | undefined) | undefined;
  readonly application_name?: string | undefined;
  /** ms; at most 5 000. */
  readonly connectionTimeoutMillis?: number | undefined;
  readonly [option: string]: unknown;
}

/** A message of `NOTIFY`. */
export interface PgNotification {
  readonly channel: string;
  readonly payload?: string | undefined;
}

export interface PgResult<Row> {
  readonly rows: Row[];
}

/** What is used of pg's `Client`. */
export interface PgClient {
  readonly host: string;
  readonly port: number;
  readonly user?: string | undefined;
  readonly database?: string | undefined;
  /** What the server, or a pooler in front of it, said at the start of the connection. */
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
  on(event: 'notification', listener: (message: PgNotification) => void): unknown;
}

interface PgModule {
  readonly Client: new (options: PgClientOptions) => PgClient;
}

/** One of pg's clients, not yet connected. */
export function newPgClient(options: PgClientOptions): PgClient {
  const { Client } = pg as unknown as PgModule;
  return new Client(options);
}
