import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { LockOptionsError } from '../../../model/lock.errors.js';
import { check, checkNames, checkObject, shownWithoutText } from '../../../model/option-checks.js';
import { addressOf, readHosts } from '../../ordered/hosts.js';

/** Options of {@link etcdStore}. */
export interface EtcdStoreOptions {
  /**
   * The members of the cluster, or some of them, such as `'etcd-1:2379,etcd-2:2379,etcd-3:2379'`, or a list of them.
   * Each may start with `http://` or `https://`. The port defaults to 2379. Put IPv6 addresses in brackets. List all
   * members, so that locks keep working when one of them is lost.
   */
  readonly hosts: string | readonly string[];
  /**
   * TLS: the certificate authority of the members, and the client certificate if etcd requires one, in PEM. `true` for
   * TLS with the authorities of the system, as with hosts given as `https://`.
   *
   * @default false, or true if the hosts are given as `https://`
   */
  readonly tls?: boolean | EtcdTlsOptions | undefined;
  /** The etcd user; requires `password`. */
  readonly username?: string | undefined;
  /**
   * The password, or a function that returns it whenever a connection needs it, for example for rotating passwords. If
   * the function takes longer than 10 s, the attempt to connect fails, and the next attempt calls it again.
   */
  readonly password?: string | (() => string | Promise<string>) | undefined;
  /**
   * The prefix of all keys of locks in etcd, 1 to 256 bytes of UTF-8. Applications that use the same locks must set the
   * same prefix, and nothing else may use it.
   *
   * @default 'distributed-lock/'
   */
  readonly keyPrefix?: string | undefined;
}

/** TLS options of {@link EtcdStoreOptions}, in PEM. */
export interface EtcdTlsOptions {
  /**
   * The authority that signed the members' certificates.
   *
   * @default the authorities of the system
   */
  readonly ca?: string | Uint8Array | undefined;
  /** The client's certificate; requires `key`. */
  readonly cert?: string | Uint8Array | undefined;
  /** The private key of `cert`, without a passphrase. */
  readonly key?: string | Uint8Array | undefined;
  /**
   * The name in the members' certificates.
   *
   * @default the name of the host
   */
  readonly serverName?: string | undefined;
}

export interface EtcdCredentials {
  readonly username: string;
  readonly password: string | (() => string | Promise<string>);
}

export interface EtcdConnectionOptions {
  /** `host:port` of each member. */
  readonly addresses: readonly string[];
  /** Undefined for plain TCP. */
  readonly tls: EtcdTlsOptions | undefined;
  readonly credentials: EtcdCredentials | undefined;
}

export interface ResolvedEtcdOptions {
  readonly connection: EtcdConnectionOptions;
  readonly keyPrefix: string;
}

const WHERE = 'etcdStore';
const KNOWN = new Set(['hosts', 'tls', 'username', 'password', 'keyPrefix']);
const KNOWN_TLS = new Set(['ca', 'cert', 'key', 'serverName']);
const LONGEST_PREFIX = 256;

/** Checks the options and applies the defaults. */
export function resolveEtcdOptions(options: EtcdStoreOptions): ResolvedEtcdOptions {
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  const { hosts, tls, username, password, keyPrefix = 'distributed-lock/' } = options;
  const { addresses, isSecure } = readMembers(hosts);
  checkPrefix(keyPrefix);
  const credentials = readCredentials(username, password);
  return { connection: { addresses, tls: readTls(tls, isSecure), credentials }, keyPrefix };
}

/** `isSecure` is undefined if no host has a scheme. */
function readMembers(hosts: unknown): { addresses: string[]; isSecure: boolean | undefined } {
  const read = readHosts(WHERE, hosts, {
    defaultPort: 2_379,
    example: "etcdStore({ hosts: 'etcd-1:2379,etcd-2:2379,etcd-3:2379' })",
    schemes: ['http', 'https'],
    credentials: 'username and password',
  });
  const schemes = new Set(read.flatMap(({ scheme }) => scheme ?? []));
  if (schemes.size > 1) fail('hosts must be all http:// or all https://; got both.');
  const [scheme] = schemes;
  return {
    addresses: [...new Set(read.map(addressOf))],
    isSecure: scheme === undefined ? undefined : scheme === 'https',
  };
}

function readTls(tls: unknown, isSecure: boolean | undefined): EtcdTlsOptions | undefined {
  if (tls === undefined) return isSecure === true ? {} : undefined;
  if (typeof tls === 'boolean') {
    if (isSecure !== undefined && tls !== isSecure) {
      const scheme = isSecure ? 'https' : 'http';
      fail(`tls is ${String(tls)}, but the hosts are given as ${scheme}://. Leave one of them out.`);
    }
    return tls ? {} : undefined;
  }
  if (typeof tls !== 'object' || tls === null || Array.isArray(tls))
    fail(`tls must be true, false or an object; got ${shownWithoutText(tls)}.`);
  if (isSecure === false) fail('tls is given, but the hosts are http://. Write https://, or leave it out.');
  checkNames(`${WHERE}: tls`, tls, KNOWN_TLS);
  const given = tls as EtcdTlsOptions;
  for (const name of ['ca', 'cert', 'key'] as const) {
    const value: unknown = given[name];
    const isPem = value === undefined || typeof value === 'string' || value instanceof Uint8Array;
    check(isPem, WHERE, `tls.${name} must be PEM, as a text or a Buffer`, value);
  }
  if ((given.cert === undefined) !== (given.key === undefined))
    fail('tls: cert and key belong together; give both or none.');
  const serverName: unknown = given.serverName;
  const isName = serverName === undefined || (typeof serverName === 'string' && serverName !== '');
  check(isName, WHERE, 'tls.serverName must be a host name', serverName);
  checkPem(given);
  return given;
}

/** gRPC would fail only when it connects, or not at all. */
function checkPem({ ca, cert, key }: EtcdTlsOptions): void {
  const checkReadable = (what: string, read: () => unknown): void => {
    try {
      read();
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      fail(
        `tls.${what} can't be read as PEM (${why}). Give the contents of the file, not its path, and no key with a passphrase.`,
      );
    }
  };
  if (ca !== undefined) checkReadable('ca', () => new X509Certificate(ca));
  if (cert === undefined || key === undefined) return;
  const [ownCert, ownKey] = [Buffer.from(cert), Buffer.from(key)];
  checkReadable('cert', () => createSecureContext({ cert: ownCert }));
  checkReadable('key', () => createSecureContext({ key: ownKey }));
  checkReadable('cert with tls.key', () => createSecureContext({ cert: ownCert, key: ownKey }));
}

function readCredentials(username: unknown, password: unknown): EtcdCredentials | undefined {
  if (username === undefined && password === undefined) return undefined;
  if (username === undefined || password === undefined) {
    const missing = username === undefined ? 'username' : 'password';
    fail(`username and password belong together; ${missing} is undefined.`);
  }
  const isName = typeof username === 'string' && username !== '';
  check(isName, WHERE, 'username must be a non-empty string', username);
  if (typeof password !== 'string' && typeof password !== 'function')
    fail(`password must be a string, or a function that returns one; got ${shownWithoutText(password)}.`);
  return { username, password: password as EtcdCredentials['password'] };
}

function checkPrefix(prefix: unknown): void {
  const isText = typeof prefix === 'string' && !/\p{Surrogate}/u.test(prefix);
  check(isText, WHERE, 'keyPrefix must be a well-formed text', prefix);
  const size = Buffer.byteLength(prefix);
  const isSize = size >= 1 && size <= LONGEST_PREFIX;
  check(isSize, WHERE, `keyPrefix must have 1 to ${String(LONGEST_PREFIX)} bytes in UTF-8`, size);
}

function fail(message: string): never {
  throw new LockOptionsError(`${WHERE}: ${message}`);
}
