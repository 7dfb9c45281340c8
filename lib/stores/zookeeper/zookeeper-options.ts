import { createSecureContext, type ConnectionOptions } from 'node:tls';
import { LockOptionsError } from '../../model/lock.errors.js';
import {
  checkCount,
  checkNames,
  checkObject,
  checkTime,
  refuse,
  shownWithoutText,
} from '../../model/option-checks.js';
import { readHosts } from '../ordered/hosts.js';
import { messageOf } from '../port/store-failure.js';
import { EVERYTHING, type Acl } from './connection/protocol.js';
import type { SocketSettings, ZooKeeperHost } from './connection/zookeeper-socket.js';
import { LockPaths } from './layout.js';

/** Options of {@link zookeeperStore}. */
export interface ZooKeeperStoreOptions {
  /**
   * The servers, such as `'zk1:2181,zk2:2181,zk3:2181'`, or a list of them. The port defaults to 2181, and to 2281 with
   * `tls`. Put IPv6 addresses in brackets. One server is used at a time, and another one if it is unreachable.
   */
  readonly hosts: string | readonly string[];
  /**
   * The node below which locks are kept; it is created if it is missing. Applications that use the same locks must set
   * the same path.
   *
   * @default '/distributed-locks'
   */
  readonly path?: string | undefined;
  /**
   * How long the servers keep the session of a process without contact, ms, and with it the locks of a process that
   * died. A process that is cut off loses its locks before that, even those with a longer `leaseTime`. `holdAtLeast`
   * can't be longer than (this - half a tick of the servers) / 1.1. The servers reduce it to their `maxSessionTimeout`.
   * At least 1 000.
   *
   * @default 1.1 times `watchdogTimeout`, and half a tick
   */
  readonly sessionTimeout?: number | undefined;
  /**
   * `tickTime` of the servers, ms, for servers that do not allow the command `conf`, which reports it. Set it where it is
   * below 2 000; where it is above 6 000 and `minSessionTimeout` is less than two ticks; and where it is above 2 000 and
   * also `maxSessionTimeout` is less than 20 ticks. If it is too small, two processes may hold a lock at once; if it is too
   * large, locks of a dead process stay held for longer. A warning is logged where the servers show another one. From 1 to
   * 60 000.
   *
   * @default the largest of 2 000, half of the servers' shortest session, and a twentieth of their longest one, up to 6 000
   */
  readonly tickTime?: number | undefined;
  /**
   * User and password of the application (scheme `digest`; SASL is not supported). Only this user may use the nodes
   * that the application creates, and the subject of a client certificate in `tls`. If omitted, they belong to that
   * subject alone; without either, everyone who can reach the servers may use them.
   */
  readonly auth?: { readonly user: string; readonly password: string } | undefined;
  /**
   * For TLS: true, or options of Node's `tls.connect`, such as `ca`, `cert` and `key`. With a client certificate
   * (`cert` or `pfx`) nodes belong to its subject, so all applications that use the same locks need certificates of
   * that subject, or `auth`.
   *
   * @default false
   */
  readonly tls?: boolean | ConnectionOptions | undefined;
}

export interface ResolvedZooKeeperOptions {
  readonly hosts: readonly ZooKeeperHost[];
  readonly paths: LockPaths;
  /** ms; undefined if it follows from `watchdogTimeout`. */
  readonly sessionTimeout: number | undefined;
  /** ms; undefined if the servers have to show it. */
  readonly tickTime: number | undefined;
  readonly auth: SocketSettings['auth'];
  readonly tls: ConnectionOptions | undefined;
  readonly acl: Acl;
}

const WHERE = 'zookeeperStore';
const KNOWN = new Set(['hosts', 'path', 'sessionTimeout', 'tickTime', 'auth', 'tls']);
/** ms */
const LONGEST_TICK = 60_000;
const DEFAULT_PATH = '/distributed-locks';

/** Checks the options and applies the defaults. */
export function resolveZooKeeperOptions(options: ZooKeeperStoreOptions): ResolvedZooKeeperOptions {
  checkNames(WHERE, checkObject(WHERE, options), KNOWN);
  const { hosts, path = DEFAULT_PATH, sessionTimeout, tickTime, auth, tls } = options;
  const resolvedTls = tlsOf(tls);
  const isOpenToAll = auth === undefined && !hasCertificate(tls);
  return {
    hosts: readHosts(WHERE, hosts, {
      defaultPort: resolvedTls === undefined ? 2_181 : 2_281,
      example: "zookeeperStore({ hosts: 'zk1:2181,zk2:2181,zk3:2181' })",
      schemes: [],
      credentials: 'auth',
      path: 'The node below which locks are kept goes into path',
    }),
    paths: new LockPaths(checkPath(path)),
    sessionTimeout:
      sessionTimeout === undefined
        ? undefined
        : checkTime(WHERE, 'sessionTimeout', sessionTimeout, { min: 1_000 }),
    tickTime: tickTime === undefined ? undefined : checkCount(WHERE, 'tickTime', tickTime, LONGEST_TICK),
    auth: authOf(auth),
    tls: resolvedTls,
    acl: {
      permissions: EVERYTHING,
      ...(isOpenToAll ? { scheme: 'world', id: 'anyone' } : { scheme: 'auth', id: '' }),
    },
  };
}

function checkPath(path: unknown): string {
  if (typeof path === 'string' && path.length <= 1_024 && /^(\/[\w.~@+=-]+)+$/.test(path)) {
    const parts = path.split('/');
    // `/zookeeper` is ZooKeeper's own, and there are no relative paths.
    if (parts[1] !== 'zookeeper' && !parts.includes('.') && !parts.includes('..')) return path;
  }
  return refuse(
    WHERE,
    "path must be an absolute path of at most 1024 letters, digits and . _ ~ @ + = -, without a slash at its end and not below /zookeeper, such as '/shop/locks'",
    path,
  );
}

function authOf(auth: unknown): SocketSettings['auth'] {
  if (auth === undefined) return undefined;
  const where = `${WHERE}: auth`;
  if (typeof auth === 'string') {
    throw new LockOptionsError(`${where}: must be { user, password }; got a string.`);
  }
  checkNames(where, checkObject(where, auth), new Set(['user', 'password']));
  const { user, password } = auth as { readonly user?: unknown; readonly password?: unknown };
  if (typeof user !== 'string' || !/^[^:]+$/.test(user)) {
    // It may contain the password.
    throw new LockOptionsError(
      `${where}: user must be a string without a colon; got ${shownWithoutText(user)}.`,
    );
  }
  if (typeof password !== 'string' || password === '') {
    throw new LockOptionsError(`${where}: password must be a non-empty string.`);
  }
  return { scheme: 'digest', credentials: `${user}:${password}` };
}

function tlsOf(tls: unknown): ConnectionOptions | undefined {
  if (tls === undefined || tls === false) return undefined;
  const options: ConnectionOptions = tls === true ? {} : checkObject(`${WHERE}: tls`, tls);
  try {
    // Before the first connection, so that unreadable certificates are reported as wrong options.
    return { ...options, secureContext: options.secureContext ?? createSecureContext(options) };
  } catch (error) {
    throw new LockOptionsError(
      `${WHERE}: tls can't be used (${messageOf(error)}). Give ca, cert and key as the contents of PEM files, not as their ` +
        'names, and cert and key of one pair.',
    );
  }
}

/** Whether the client has a certificate, by which ZooKeeper identifies it (scheme `x509`). */
function hasCertificate(tls: unknown): boolean {
  if (typeof tls !== 'object' || tls === null) return false;
  const { cert, pfx, secureContext } = tls as ConnectionOptions;
  if (cert !== undefined || pfx !== undefined) return true;
  if (secureContext === undefined) return false;
  throw new LockOptionsError(
    `${WHERE}: tls.secureContext may contain a client certificate, which would have to own the nodes, but hides it. Give ` +
      'ca, cert and key instead of it, or set auth.',
  );
}
