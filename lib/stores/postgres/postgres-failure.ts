import { LockStoreError } from '../port/lock-store.js';
import { adviceOn, answerLost, notConnectedTo, type Remedy } from '../port/store-failure.js';

/** Remedies for PostgreSQL's errors, by SQLSTATE code. */
export const postgresRemedies: readonly Remedy[] = [
  {
    says: /\b(28P01|28000)\b|SASL|password/,
    advice:
      'PostgreSQL accepts neither this user nor this password, or not from this machine: check both, and pg_hba.conf.',
  },
  {
    says: /\b42501\b/,
    advice:
      'Give the user the rights to the schema of locks: USAGE; SELECT, INSERT, UPDATE and DELETE on its tables; SELECT and ' +
      'UPDATE on its sequence; EXECUTE on its functions.',
  },
  {
    says: /\b25006\b|is (read-only|a standby)/,
    advice: 'Use the address of the primary; during a failover it passes by itself.',
  },
  { says: /\b53100\b/, advice: 'The disk of PostgreSQL is full: make room.' },
  { says: /\b53200\b/, advice: 'PostgreSQL is out of memory: lower its memory settings, or add memory.' },
  {
    says: /\b53300\b/,
    advice: 'Raise `max_connections`, or find out which client opens so many connections.',
  },
  { says: /\b3D000\b/, advice: 'Create the database, or correct its name at the end of the URL.' },
  {
    says: /\b(3F000|42704|42883|42P01|20000)\b/,
    advice:
      'Is the schema of locks up to date? Run the SQL of postgresMigration(), or set createSchema: true.',
  },
  {
    says: /\b(22P05|22021)\b/,
    advice:
      'The encoding of the database lacks characters of this key or label: use only those that it has, or a database in UTF8.',
  },
  {
    says: /max_client_conn|query_wait_timeout/,
    advice:
      'PgBouncer has no connection left: raise `max_client_conn` and `default_pool_size`, or give locks a pool of their own.',
  },
  {
    says: /no answer within/,
    advice:
      'No reply: check the address, firewalls and network policies, whether the server is overloaded or stopped, whether a pooler in front of it, such as PgBouncer, has a free connection (SHOW POOLS), and that TLS is used on both sides or on neither.',
  },
  { says: /does not support SSL/, advice: 'TLS is used on one side only: use it on both, or on neither.' },
];

/** Errors after which a retry may succeed, by class or code. */
const TEMPORARY = [
  '25006', // read-only: a standby, or a server that is becoming one
  '40', // a deadlock
  '53', // out of memory, disk or connections
  '54000', // the queue of notifications is full; keys and prefixes are too short to reach another limit
  '55P03',
  '57', // the server starts or stops, or somebody cancelled the statement
  'XX',
];
/** Errors of a server that is stopping or starting. */
const GOING_OR_COMING = ['57P01', '57P02', '57P03'];
/** Errors that end the connection: the last statement may have been carried out. */
const CONNECTION_ENDS = [
  '08',
  ...GOING_OR_COMING,
  '57P04', // the database was dropped
  '57P05', // idle for too long
  '25P03', // idle in a transaction for too long
  '25P04', // a transaction that took too long
];
/** Errors that may also stop the whole server when it can't read or write, for example a commit on a full disk. */
const MAY_END_SERVER = ['53', '58', 'XX'];

/** Errors of a server that lacks the schema, or has one of another version. */
const NO_SCHEMA = [
  '3F000',
  '42704', // the type of a table's rows
  '42883',
  '42P01',
  '20000', // a request that it does not know
];

/** An error that the server returned. */
interface ServerAnswer extends Error {
  readonly code: string;
  /** In the language of the server's messages (`lc_messages`), so only its presence can be relied on. */
  readonly severity: string;
}

/** Errors of sockets have codes of another form and no severity. */
export function isServerAnswer(error: unknown): error is ServerAnswer {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return false;
  return typeof error.code === 'string' && typeof error.severity === 'string';
}

/** Whether the server accepts no writes, so that another has to be found. */
export function isReadOnly(error: unknown): boolean {
  return isServerAnswer(error) && error.code === '25006';
}

/** Whether the user lacks a right. */
export function lacksRight(error: unknown): error is ServerAnswer {
  return isServerAnswer(error) && error.code === '42501';
}

/** Whether the schema is incomplete, so that the migration has to be run. */
export function lacksSchema(error: unknown): boolean {
  return isServerAnswer(error) && startsWithAny(error.code, NO_SCHEMA);
}

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRefusal = isServerAnswer(cause) && !startsWithAny(cause.code, GOING_OR_COMING);
  return notConnectedTo('PostgreSQL', withoutDetail(cause), isRefusal, postgresRemedies);
}

/** @param isMended whether the missing parts of the schema are being created */
export function postgresFailure(error: unknown, isMended = false): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (isServerAnswer(error) && !endsConnection(error)) return refusal(error, isMended);
  return answerLost('PostgreSQL', error instanceof Error ? withoutDetail(error) : error, postgresRemedies);
}

/** Also by its code: the severity is "FATAL" only in some languages. */
function endsConnection({ code, severity }: ServerAnswer): boolean {
  return severity === 'FATAL' || severity === 'PANIC' || startsWithAny(code, CONNECTION_ENDS);
}

/** A statement that failed has changed nothing, as it is a transaction. */
function refusal(error: ServerAnswer, isMended: boolean): LockStoreError {
  return new LockStoreError(`PostgreSQL answered "${error.message}" (${error.code})`, {
    remedy: isMended
      ? 'The missing parts of the schema of locks are being created again.'
      : adviceOn(error.code, postgresRemedies),
    // The server, whatever its language, may have stopped after the commit.
    inDoubt: error.severity !== 'ERROR' && startsWithAny(error.code, MAY_END_SERVER),
    retryable: isMended || startsWithAny(error.code, TEMPORARY),
    cause: withoutDetail(error),
  });
}

function startsWithAny(code: string, some: readonly string[]): boolean {
  return some.some((one) => code.startsWith(one));
}

/** The details of an error may quote the request. */
function withoutDetail(error: Error | undefined): Error | undefined {
  if (!isServerAnswer(error)) return error;
  const { name, message, code, severity } = error;
  return Object.assign(new Error(message), { name, code, severity });
}
