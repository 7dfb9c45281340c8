import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LockProcess } from '../../model/lock-info.js';

const LONGEST_HOST = 63;

/** A new client id: 128 random bits, then host and process id, so that an owner names its process. No colons, no blanks. */
export function newClientId(): string {
  const host = hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, LONGEST_HOST);
  const id = `${randomBytes(16).toString('base64url')}@${host}/${String(process.pid)}`;
  // Flattened, because every owner contains it: V8 would copy a concatenated string for each.
  return Buffer.from(id, 'latin1').toString('latin1');
}

/** The process of an owner; undefined for owners of other software. */
export function processOf(owner: string): LockProcess | undefined {
  const [, host, pid] = /^[\w-]{22}@([\w.-]+)\/(\d+):/.exec(owner) ?? [];
  return host === undefined ? undefined : { host, pid: Number(pid) };
}
