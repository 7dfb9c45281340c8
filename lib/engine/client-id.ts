import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import type { LockProcess } from '../model/lock-info.js';

const LONGEST_HOST = 63;

/**
 * A name for one client of a store: 128 random bits, then host and process, so that whoever looks at a lock sees whom to
 * ask, without a request more. Contains neither a colon nor a blank.
 */
export function newClientId(): string {
  const host = hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, LONGEST_HOST);
  const id = `${randomBytes(16).toString('base64url')}@${host}/${String(process.pid)}`;
  // As one piece in memory: it is part of every owner, and would be put together anew with each.
  return Buffer.from(id, 'latin1').toString('latin1');
}

/** The process of an owner; undefined for owners of other software. */
export function processOf(owner: string): LockProcess | undefined {
  const [, host, pid] = /^[\w-]{22}@([\w.-]+)\/(\d+):/.exec(owner) ?? [];
  return host === undefined ? undefined : { host, pid: Number(pid) };
}
