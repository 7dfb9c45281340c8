import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, answerLost, notConnectedTo } from '../../port/store-failure.js';
import { postgresRemedies } from './postgres-remedies.js';

/** Answers by which PostgreSQL refuses a request that may succeed later, by class or code. */
const TEMPORARY = [
  '25006', // read-only: a standby, or a server that is to be one
  '40', // a circle of waits, which PostgreSQL has cut open
  '53', // out of memory, disk or connections
  '54000', // the queue of notifications is full; keys and prefixes are too short to reach another limit
  '55P03',
  '57', // the server starts, ends, or somebody ended the statement
  'XX',
];
/** Answers of a server that is about to end, or not there yet. */
const GOING_OR_COMING = ['57P01', '57P02', '57P03'];
/** With these the connection ends, and what was asked for last may have been carried out. */
const CONNECTION_ENDS = [
  '08',
  ...GOING_OR_COMING,
  '57P04', // the database was dropped
  '57P05', // idle for too long
  '25P03', // idle in a transaction for too long
  '25P04', // a transaction that took too long
];
/** What also ends a whole server when it can't write or read what it must, such as a commit on a full disk. */
const MAY_END_SERVER = ['53', '58', 'XX'];

/** Answers of a server that lacks the schema, or has one of another version. */
const NO_SCHEMA = ['3F000', '42883', '42P01'];

/** What an error that PostgreSQL answered has. */
interface ServerAnswer extends Error {
  readonly code: string;
  /** In the language of the server's messages (`lc_messages`), so that nothing but its presence can be relied on. */
  readonly severity: string;
}

/** Whether it is an answer of the server. Errors of sockets have codes of other shapes and no severity. */
export function isServerAnswer(error: unknown): error is ServerAnswer {
  if (!(error instanceof Error) || !('code' in error) || !('severity' in error)) return false;
  return typeof error.code === 'string' && typeof error.severity === 'string';
}

/** Whether the connection leads to a server that does not write, so that another has to be found. */
export function isReadOnly(error: unknown): boolean {
  return isServerAnswer(error) && error.code === '25006';
}

/** Whether the schema lacks something, so that the migration has to be run. */
export function lacksSchema(error: unknown): boolean {
  return isServerAnswer(error) && startsWithAny(error.code, NO_SCHEMA);
}

/** The connection is down, so the request was not sent. */
export function notConnected(cause: Error | undefined): LockStoreError {
  const isRefusal = isServerAnswer(cause) && !startsWithAny(cause.code, GOING_OR_COMING);
  return notConnectedTo('PostgreSQL', withoutDetail(cause), isRefusal, postgresRemedies);
}

/**
 * What a failed request tells about whether it was carried out.
 *
 * @param isMended whether what the schema lacks is created now
 */
export function postgresFailure(error: unknown, isMended = false): LockStoreError {
  if (error instanceof LockStoreError) return error;
  if (isServerAnswer(error) && !endsConnection(error)) return refusal(error, isMended);
  return answerLost('PostgreSQL', error instanceof Error ? withoutDetail(error) : error, postgresRemedies);
}

/** By its code: the severity is "FATAL" in some languages only. */
function endsConnection({ code, severity }: ServerAnswer): boolean {
  return severity === 'FATAL' || severity === 'PANIC' || startsWithAny(code, CONNECTION_ENDS);
}

/** A statement that PostgreSQL answers with an error has changed nothing: it is a transaction. */
function refusal(error: ServerAnswer, isMended: boolean): LockStoreError {
  return new LockStoreError(`PostgreSQL answered "${error.message}" (${error.code})`, {
    remedy: isMended
      ? 'What is missing in the schema of locks is created again.'
      : adviceOn(error.code, postgresRemedies),
    // The end of the whole server, in whatever language, may have come after the commit.
    inDoubt: error.severity !== 'ERROR' && startsWithAny(error.code, MAY_END_SERVER),
    retryable: isMended || startsWithAny(error.code, TEMPORARY),
    cause: withoutDetail(error),
  });
}

function startsWithAny(code: string, some: readonly string[]): boolean {
  return some.some((one) => code.startsWith(one));
}

/** What PostgreSQL tells besides its message may quote what was sent. */
function withoutDetail(error: Error | undefined): Error | undefined {
  if (!isServerAnswer(error)) return error;
  const { name, message, code, severity } = error;
  return Object.assign(new Error(message), { name, code, severity });
}
