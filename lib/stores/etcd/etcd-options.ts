import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { LockOptionsError } from '../../model/lock.errors.js';
import { checkNames, checkObject, shown, shownWithoutText } from '../../model/option-checks.js';
import type { EtcdConnectionOptions, EtcdCredentials } from './connection/connection-options.js';
import { readHosts } from './connection/hosts.js';
import type { EtcdTlsOptions } from './tls-options.js';

/** Options of {@link etcdStore}. */
export interface EtcdStoreOptions {
  /**
   * The members of the cluster, or some of them: `'host:port'`, `'http://host:port'` or `'https://host:port'`. Without a
   * port it is 2379. Give all of them, so that the lock goes on when one is lost.
   */
  readonly hosts: string | readonly string[];
  /**
   * For TLS: the authority that has signed the members' certificates, and the certificate of this client where etcd asks
   * for one, in PEM. `true` for TLS by the authorities of the system, as hosts with `https://` have it.
   *
   * @default false, or true if the hosts are given as `https://`
   */
  readonly tls?: boolean | EtcdTlsOptions | undefined;
  /** With `password`, where etcd tells users apart by their names. */
  readonly username?: string | undefined;
  /**
   * A text, or a function that gives it whenever it is needed, such as for passwords that change. It has 10 s for that; then
   * the attempt to connect has failed, and the next one asks again.
   */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  /**
   * What all keys of locks in etcd start with: 1 to 256 bytes of UTF-8. Applications that share locks must use the same,
   * and nothing else may be kept there.
   *
   * @default 'distributed-lock/'
   */
  readonly keyPrefix?: string | undefined;
}

export interface ResolvedEtcdOptions {
  readonly connection: EtcdConnectionOptions;
  readonly keyPrefix: string;
}

const WHERE = 'etcdStore';
const KNOWN = new Set(['hosts', 'tls', 'username', 'password', 'keyPrefix']);
const KNOWN_TLS = new Set(['ca', 'cert', 'key', 'serverName']);
const LONGEST_PREFIX = 256;
const DEFAULT_PREFIX = 'distributed-lock/';

/** Checks the options and fills in what is left out. */
export function resolveEtcdOptions(options: EtcdStoreOptions): ResolvedEtcdOptions {
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  const { hosts, tls, username, password, keyPrefix = DEFAULT_PREFIX } = options;
  if ((hosts as unknown) === undefined) {
    throw new LockOptionsError(
      `${WHERE}: hosts is undefined. If it comes from an environment variable, that one is not set: set it, or write a ` +
        "value, such as etcdStore({ hosts: ['etcd-1:2379', 'etcd-2:2379', 'etcd-3:2379'] }).",
    );
  }
  const { addresses, isSecure } = readHosts(`${WHERE}: hosts`, hosts);
  checkPrefix(keyPrefix);
  return {
    connection: {
      addresses,
      tls: resolveTls(tls, isSecure),
      credentials: resolveCredentials(username, password),
    },
    keyPrefix,
  };
}

function resolveTls(tls: unknown, isSecure: boolean | undefined): EtcdTlsOptions | undefined {
  const where = `${WHERE}: tls`;
  if (tls === undefined) return isSecure === true ? {} : undefined;
  if (typeof tls === 'boolean') {
    if (isSecure !== undefined && tls !== isSecure) {
      throw new LockOptionsError(
        `${where} is ${String(tls)}, but the hosts are given as ${isSecure ? 'https' : 'http'}://. Leave one of them out.`,
      );
    }
    return tls ? {} : undefined;
  }
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls)) {
    throw new LockOptionsError(`${where} must be true, false or an object; got ${shownWithoutText(tls)}.`);
  }
  if (isSecure === false) {
    throw new LockOptionsError(
      `${where} is given, but the hosts are http://. Write https://, or leave it out.`,
    );
  }
  checkNames(where, tls, KNOWN_TLS);
  const given = tls as EtcdTlsOptions;
  for (const name of ['ca', 'cert', 'key'] as const) {
    const value: unknown = given[name];
    if (value !== undefined && typeof value !== 'string' && !(value instanceof Uint8Array)) {
      throw new LockOptionsError(`${where}.${name} must be PEM, as a text or a Buffer; got ${shown(value)}.`);
    }
  }
  if ((given.cert === undefined) !== (given.key === undefined)) {
    throw new LockOptionsError(`${where}: cert and key belong together; give both or none.`);
  }
  const serverName: unknown = given.serverName;
  if (serverName !== undefined && (typeof serverName !== 'string' || serverName === '')) {
    throw new LockOptionsError(`${where}.serverName must be a host name; got ${shown(serverName)}.`);
  }
  checkPem(where, given);
  return given;
}

/** What gRPC would refuse only when it connects, or not at all. */
function checkPem(where: string, { ca, cert, key }: EtcdTlsOptions): void {
  const check = (what: string, read: () => unknown): void => {
    try {
      read();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new LockOptionsError(
        `${where}.${what} can't be read as PEM (${why}). Give what is in the file, not its path, and no key with a passphrase.`,
      );
    }
  };
  if (ca !== undefined) check('ca', () => new X509Certificate(ca));
  if (cert === undefined || key === undefined) return;
  const [ownCert, ownKey] = [Buffer.from(cert), Buffer.from(key)];
  check('cert', () => createSecureContext({ cert: ownCert }));
  check('key', () => createSecureContext({ key: ownKey }));
  check('cert with tls.key', () => createSecureContext({ cert: ownCert, key: ownKey }));
}

function resolveCredentials(username: unknown, password: unknown): EtcdCredentials | undefined {
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined || password === undefined) {
    throw new LockOptionsError(
      `${WHERE}: username and password belong together; ${username === undefined ? 'username' : 'password'} is undefined.`,
    );
  }
  if (typeof username !== 'string' || username === '') {
    throw new LockOptionsError(
      `${WHERE}: username must be a text that is not empty; got ${shown(username)}.`,
    );
  }
  if (typeof password !== 'string' && typeof password !== 'function') {
    throw new LockOptionsError(
      `${WHERE}: password must be a text, or a function that gives one; got ${shownWithoutText(password)}.`,
    );
  }
  return { username, password: password as EtcdCredentials['password'] };
}

function checkPrefix(prefix: unknown): void {
  if (typeof prefix !== 'string' || /\p{Surrogate}/u.test(prefix)) {
    throw new LockOptionsError(`${WHERE}: keyPrefix must be a well-formed text; got ${shown(prefix)}.`);
  }
  const size = Buffer.byteLength(prefix);
  if (size < 1 || size > LONGEST_PREFIX) {
    throw new LockOptionsError(
      `${WHERE}: keyPrefix must have 1 to ${String(LONGEST_PREFIX)} bytes in UTF-8; got ${String(size)}.`,
    );
  }
}
