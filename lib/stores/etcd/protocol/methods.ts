import {
  decodeAuthenticate,
  decodeLease,
  decodeNothing,
  decodeRange,
  decodeStatus,
  decodeTransaction,
  decodeWatch,
} from './replies.js';
import {
  encodeAuthenticate,
  encodeLeaseGrant,
  encodeLeaseId,
  encodeNothing,
  encodeRange,
  encodeTransaction,
  encodeWatch,
} from './requests.js';

/** A method of etcd's API, with how its messages are written and read. */
export interface Method<Request, Reply> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (message: Buffer) => Reply;
}

function method<Request, Reply>(
  path: string,
  encode: (request: Request) => Buffer,
  decode: (message: Buffer) => Reply,
): Method<Request, Reply> {
  return { path: `/etcdserverpb.${path}`, encode, decode };
}

/** What locks need of etcd's API, version 3. */
export const methods = {
  range: method('KV/Range', encodeRange, decodeRange),
  transaction: method('KV/Txn', encodeTransaction, decodeTransaction),
  watch: method('Watch/Watch', encodeWatch, decodeWatch),
  leaseGrant: method('Lease/LeaseGrant', encodeLeaseGrant, decodeLease),
  leaseRevoke: method('Lease/LeaseRevoke', encodeLeaseId, decodeNothing),
  leaseKeepAlive: method('Lease/LeaseKeepAlive', encodeLeaseId, decodeLease),
  authenticate: method('Auth/Authenticate', encodeAuthenticate, decodeAuthenticate),
  status: method('Maintenance/Status', encodeNothing, decodeStatus),
} as const;
