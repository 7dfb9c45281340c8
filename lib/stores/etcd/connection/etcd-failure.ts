import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, notConnectedTo, type Remedy } from '../../port/store-failure.js';

export const status = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export const etcdRemedies: readonly Remedy[] = [
  { says: /permission denied/, advice: 'Give its user the right to read and write all keys of locks.' },
  { says: /user name is empty/, advice: 'Give etcdStore a username and a password.' },
  {
    says: /authentication failed|invalid user ID or password|invalid auth token/,
    advice: 'etcd accepts neither this user nor this password: check `username` and `password` of etcdStore.',
  },
  { says: /space exceeded/, advice: 'Compact and defragment it, then disarm its alarm.' },
  {
    says: /no leader/,
    advice: 'Bring the majority of the members back, and check the network between them.',
  },
  {
    says: /request timed out/,
    advice: 'The leader is lost, or its disk is slow: check the disks of the members.',
  },
];

export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }

  /** Whether etcd itself has replied with it, rather than gRPC. */
  get isOfServer(): boolean {
    return /^(etcdserver|auth):/.test(this.message);
  }

  /** Whether the request was not carried out. */
  get isRefusal(): boolean {
    const { code, message } = this;
    switch (code) {
      case status.notFound:
      case status.permissionDenied:
      case status.unauthenticated:
      case status.failedPrecondition:
        return true;
      case status.invalidArgument:
      case status.resourceExhausted:
        // gRPC itself uses these codes as well.
        return this.isOfServer || message.startsWith('grpc: received message larger than max');
      default:
        return false;
    }
  }

  /** Whether the token has expired, or is older than the last change of users or roles (revisions of the auth store). */
  get needsNewToken(): boolean {
    return this.code === status.unauthenticated || isAboutToken(this.message);
  }
}

/** Whether etcd has refused a token that another one may replace. */
export function isAboutToken(message: string): boolean {
  return /invalid auth token|revision (in header|of auth store) is old|user name is empty/.test(message);
}

/** Converts an error of gRPC; its text contains no secret. */
export function etcdError(error: unknown): Error {
  if (error instanceof EtcdError || error instanceof LockStoreError) return error;
  if (!(error instanceof Error)) return new Error(String(error));
  if (!('code' in error) || !('details' in error)) return error;
  const { code, details } = error as Error & { readonly code: number; readonly details: string };
  return new EtcdError(details, code);
}

export function notConnected(cause: Error | undefined): LockStoreError {
  return notConnectedTo('etcd', cause, cause instanceof EtcdError && cause.isRefusal, etcdRemedies);
}

export function etcdFailure(cause: Error): LockStoreError {
  if (cause instanceof LockStoreError) return cause;
  const remedy = adviceOn(cause.message, etcdRemedies);
  if (cause instanceof EtcdError && cause.isRefusal) {
    const retryable = cause.code !== status.permissionDenied && cause.code !== status.invalidArgument;
    const message = `etcd answered "${cause.message}"`;
    return new LockStoreError(message, { remedy, inDoubt: false, retryable, cause });
  }
  return new LockStoreError(`etcd did not reply (${cause.message})`, {
    // Also "no leader": etcd may have the request in its log.
    inDoubt: true,
    retryable: true,
    unreachable: true,
    remedy,
    cause,
  });
}

/** Whether a write was rejected because the database has reached its quota; etcd still reads and deletes then. */
export function isOutOfSpace(error: unknown): boolean {
  const cause = error instanceof LockStoreError ? error.cause : error;
  return cause instanceof EtcdError && cause.message.includes('space exceeded');
}
