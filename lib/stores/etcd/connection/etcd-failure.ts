import { LockStoreError } from '../../port/lock-store.js';
import { adviceOn, notConnectedTo } from '../../port/store-failure.js';
import { etcdRemedies } from './etcd-remedies.js';

/** Codes of gRPC. */
export const status = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** As versions of etcd have it. */
const isOldRevision = /revision (in header|of auth store) is old/;

/** What gRPC rejects with. */
interface GrpcError extends Error {
  readonly code: number;
  readonly details: string;
}

/** An answer of etcd by which it refuses a request, or does not know what came of it. */
export class EtcdError extends Error {
  override readonly name = 'EtcdError';

  constructor(
    message: string,
    readonly code: number,
  ) {
    super(message);
  }

  get isFromServer(): boolean {
    // Those of gRPC itself don't say whose they are.
    return this.message.startsWith('etcdserver:') || this.message.startsWith('auth:');
  }

  /** Whether the token is over, or was made before users or roles changed, or users came into force after it was asked for. */
  get needsNewToken(): boolean {
    const { code, message } = this;
    return code === status.unauthenticated || isOldRevision.test(message) || this.namesNoUser;
  }

  /** Whether it came without a token. */
  get namesNoUser(): boolean {
    return this.message.includes('user name is empty');
  }
}

/** What gRPC tells, without what it was sent. */
export function etcdError(error: unknown): Error {
  if (error instanceof EtcdError || error instanceof LockStoreError) return error;
  if (!(error instanceof Error)) return new Error(String(error));
  if (!('code' in error) || !('details' in error)) return error;
  const { code, details } = error as GrpcError;
  return new EtcdError(details, code);
}

/** Nothing can be sent at the moment. */
export function notConnected(cause: Error | undefined): LockStoreError {
  return notConnectedTo('etcd', cause, cause instanceof EtcdError && isRefusal(cause), etcdRemedies);
}

/** What a failed request tells about whether it was carried out. */
export function etcdFailure(cause: Error): LockStoreError {
  if (cause instanceof LockStoreError) return cause;
  if (cause instanceof EtcdError && isRefusal(cause)) {
    const retryable = cause.code !== status.permissionDenied && cause.code !== status.invalidArgument;
    return new LockStoreError(`etcd answered "${cause.message}"`, {
      remedy: adviceOn(cause.message, etcdRemedies),
      inDoubt: false,
      retryable,
      cause,
    });
  }
  const isUnsent = cause instanceof EtcdError && cause.message === 'etcdserver: no leader';
  return new LockStoreError(`etcd did not answer (${cause.message})`, {
    inDoubt: !isUnsent,
    retryable: true,
    unreachable: true,
    remedy: adviceOn(cause.message, etcdRemedies),
    cause,
  });
}

/** Whether etcd has refused a write because its database has reached the quota; it still reads and deletes. */
export function isOutOfSpace(error: unknown): boolean {
  const cause = error instanceof LockStoreError ? error.cause : error;
  return cause instanceof EtcdError && cause.message.includes('space exceeded');
}

/** Whether a request that etcd answers with it has changed nothing. */
function isRefusal({ code, isFromServer }: EtcdError): boolean {
  switch (code) {
    case status.notFound:
    case status.permissionDenied:
    case status.unauthenticated:
    case status.failedPrecondition:
      return true;
    case status.invalidArgument:
    case status.resourceExhausted:
      return isFromServer;
    default:
      return false;
  }
}
