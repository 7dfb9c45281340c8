import { InvalidCursorError, LockStoreError } from './lock-store.js';
import { UnknownFormatError } from './stored-format.js';

/** What to do about one cause of a failure. */
export interface Remedy {
  /** Matches the failure's message. */
  readonly says: RegExp;
  /** A sentence. */
  readonly advice: string;
}

/** Causes that make any store unreachable. Messages are those of Node.js and OpenSSL. */
export const connectionRemedies: readonly Remedy[] = [
  {
    says: /ENOTFOUND|EAI_AGAIN|Name resolution failed/,
    advice: 'The name of the host is not known here: check the address, and DNS.',
  },
  {
    says: /ECONNREFUSED/,
    advice:
      'Nothing listens at that address and port: check both, that the server runs, and that it accepts connections from this machine.',
  },
  {
    says: /certificate|self.signed|unable to verify|Hostname\/IP does not match/i,
    advice: 'Have this process trust the certificate of the server (option `tls`, or NODE_EXTRA_CA_CERTS).',
  },
  {
    says: /EPROTO|wrong version number|packet length too long|SSL|TLS/,
    advice: 'TLS is used on one side only: use it on both, or on neither.',
  },
  {
    says: /ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|no answer|timed out|can't be reached/i,
    advice:
      'No reply: check the address, firewalls and network policies, whether the server is overloaded or stopped, and that TLS is used on both sides or on neither.',
  },
  {
    says: /ECONNRESET|EPIPE|socket hang up|closed|terminated/i,
    advice:
      'The connection was closed: check that the server is up, for a proxy in between, and that TLS is used on both sides or on neither.',
  },
];

/** Messages that quote the name of a host, which may contain words of other causes, such as `database.example`. */
const QUOTES_HOST = /ENOTFOUND|EAI_AGAIN|Name resolution failed|Hostname\/IP does not match/;

/** The remedy for the first cause that the message contains; the store's own causes come first. */
export function adviceOn(message: string, ofStore: readonly Remedy[]): string | undefined {
  const remedies = QUOTES_HOST.test(message) ? connectionRemedies : [...ofStore, ...connectionRemedies];
  return remedies.find(({ says }) => says.test(message))?.advice;
}

/** The error as a `LockStoreError`. A custom store may throw anything: such an error is in doubt, and retryable. */
export function storeFailure(error: unknown): LockStoreError {
  if (error instanceof LockStoreError) return error;
  return new LockStoreError(messageOf(error), { inDoubt: true, retryable: true, cause: error });
}

/**
 * The connection is down, so the request was not sent.
 *
 * @param store its name for display
 * @param isAnswer whether a server refused the connection, for example because of a wrong password
 * @param remedies for replies of its servers
 * @param why the cause, for display
 */
export function notConnectedTo(
  store: string,
  cause: Error | undefined,
  isAnswer: boolean,
  remedies: readonly Remedy[],
  why = cause?.message,
): LockStoreError {
  // It is the reason why this process has no connection.
  if (cause instanceof UnknownFormatError) return cause;
  return new LockStoreError(`${store} is not connected${why === undefined ? '' : ` (${why})`}`, {
    inDoubt: false,
    retryable: true,
    unreachable: !isAnswer,
    remedy: adviceOn(textOf(cause, why), remedies),
    cause,
  });
}

/** The request was sent, and its outcome is unknown. */
export function answerLost(
  store: string,
  cause: unknown,
  remedies: readonly Remedy[],
  why = messageOf(cause),
): LockStoreError {
  return new LockStoreError(`the connection to ${store} was lost before its answer (${why})`, {
    inDoubt: true,
    retryable: true,
    unreachable: true,
    remedy: adviceOn(textOf(cause, why), remedies),
    cause,
  });
}

/** The text that remedies are matched against. Some errors name their cause only in `code`. */
function textOf(cause: unknown, why: string | undefined): string {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return `${why ?? ''} ${messageOf(cause)} ${code}`;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Sends a request at once, and rejects only with a `LockStoreError`. */
export async function asked<T>(request: () => PromiseLike<T>): Promise<T> {
  try {
    return await request();
  } catch (error) {
    throw storeFailure(error);
  }
}

/** The reply to a request that is sent at once, or its failure. */
export async function tried<T>(request: () => PromiseLike<T>): Promise<T | LockStoreError> {
  try {
    return await request();
  } catch (error) {
    return storeFailure(error);
  }
}

/** A custom store sent an invalid reply: what it has done is unknown, and repeating the request won't help. */
export function unusableReply(error: unknown): LockStoreError {
  return new LockStoreError(messageOf(error), { inDoubt: true, retryable: false, cause: error });
}

/** @throws InvalidCursorError */
export function checkCursor(isCursor: boolean): void {
  if (!isCursor) throw new InvalidCursorError();
}
