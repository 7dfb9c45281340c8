import { randomUUID } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { inMs } from '../../common/durations.js';
import type { LockStoreClient } from '../port/lock-store.js';
import type { ResolvedZooKeeperOptions } from './zookeeper-options.js';
import { create, getChildren, multi, NODE, remove } from './connection/protocol.js';
import {
  goneAfter,
  longestLease,
  timeoutForLease,
  type Request,
  type SessionTimes,
  type ShownTick,
} from './connection/zookeeper-connection.js';
import { ZooKeeperError } from './connection/zookeeper-failure.js';
import { askServer, connectTo, type ZooKeeperHost } from './connection/zookeeper-socket.js';

/** By how much the default timeout may be rounded up, ms. */
const ROUNDING = 2;

/** How long to wait for the version of a server, ms: it is only for the log. */
const VERSION_TIMEOUT = 2_000;

/** Checks whether the servers can keep locks, warns of foreseeable problems, and returns a description for the log. */
export async function checkServers(
  request: Request,
  host: ZooKeeperHost,
  times: SessionTimes,
  shown: ShownTick,
  options: ResolvedZooKeeperOptions,
  client: LockStoreClient,
): Promise<string> {
  const [version, rights] = await Promise.all([
    versionOf(host, options.tls),
    rightsWarnings(request, options),
  ]);
  const ofTimes = [
    ...tickWarnings(shown, options.tickTime),
    ...timeoutWarnings(times, shown, options, client),
  ];
  for (const warning of [...ofTimes, ...rights]) client.warn(warning);
  const name = version === undefined ? 'ZooKeeper' : `ZooKeeper ${version}`;
  return `${name}, session timeout ${inMs(times.timeout)}`;
}

/** The version of a server, such as `3.9.3`, by the command `srvr`; undefined if the server does not report it. */
export async function versionOf(
  host: ZooKeeperHost,
  tls: ConnectionOptions | undefined,
): Promise<string | undefined> {
  const reply = await askServer(connectTo(host, tls), 'srvr', VERSION_TIMEOUT);
  return /^Zookeeper version: (\d+(?:\.\d+)+)/m.exec(reply)?.[1];
}

/** `tickTime` of the options differs from what the servers show. */
function tickWarnings({ told, byShortest, byLongest }: ShownTick, set: number | undefined): string[] {
  if (set === undefined) return [];
  if (told !== undefined) {
    if (told === set) return [];
    return [
      `tickTime of zookeeperStore is ${set}, but that of the servers is ${told}, which is used. Set it to ${told}, or leave ` +
        'it out.',
    ];
  }
  // Otherwise their minSessionTimeout or maxSessionTimeout is set, and shows nothing.
  if (byShortest !== byLongest || byShortest === set) return [];
  const danger =
    byShortest > set
      ? 'two processes may hold a lock at once'
      : 'locks of a dead process stay held for longer';
  return [
    `tickTime of zookeeperStore is ${set}, but the limits of sessions suggest that it is ${byShortest} on the servers: then ` +
      `${danger}. Set it to the tickTime of the servers, or have them report it: allow conf in 4lw.commands.whitelist.`,
  ];
}

function timeoutWarnings(
  times: SessionTimes,
  shown: ShownTick,
  { sessionTimeout, tickTime }: ResolvedZooKeeperOptions,
  { watchdogTimeout }: LockStoreClient,
): string[] {
  const { timeout, tick } = times;
  const needed = timeoutForLease(watchdogTimeout, tick);
  const isSet = sessionTimeout !== undefined;
  const longest = longestLease(times);
  if (longest < watchdogTimeout) {
    return [
      `ZooKeeper keeps the session for ${inMs(timeout)} only: a process without contact loses its locks after ` +
        `${inMs(longest)}, before its watchdogTimeout of ${inMs(watchdogTimeout)}. Set maxSessionTimeout of the ` +
        `servers to ${needed} or more${isSet ? `, and sessionTimeout to ${needed}` : ''}, or watchdogTimeout to ` +
        `${longest} or less.`,
    ];
  }
  const due = Math.ceil((watchdogTimeout * 1.5) / 1_000) * 1_000;
  if (goneAfter(times) <= due + ROUNDING) return [];
  // Whatever the tick, the default takes 1.1 times watchdogTimeout and two ticks.
  const remedy =
    timeout > needed && isSet
      ? `sessionTimeout of zookeeperStore to ${needed}, or leave it out`
      : shown.told === undefined && tickTime === undefined
        ? `tickTime of zookeeperStore to that of the servers, which is taken for ${inMs(tick)} because they don't report it, and on ` +
          `the servers to ${Math.floor(watchdogTimeout / 5)} or less, or watchdogTimeout to ${tick * 5} or more`
        : `tickTime of the servers, which is ${inMs(tick)}, to ${Math.floor(watchdogTimeout / 5)} or less, or watchdogTimeout ` +
          `to ${tick * 5} or more`;
  return [
    `A lock whose process died stays held for up to ${inMs(goneAfter(times))} on these servers, longer than 1.5 times ` +
      `watchdogTimeout (${inMs(due)}). Set ${remedy}.`,
  ];
}

/** Tries once the operations of locks, at their path. Preparing the connection has already tried the rest. */
async function rightsWarnings(request: Request, { acl, paths }: ResolvedZooKeeperOptions): Promise<string[]> {
  const lock = paths.ofTrial(randomUUID());
  const entry = `${lock}/x`;
  const noData = new Uint8Array();
  // One transaction, so that nothing is ever left of it.
  const trial = [
    create(lock, noData, acl, NODE.container),
    create(entry, noData, acl, NODE.ephemeral),
    remove(entry),
    remove(lock),
  ];
  try {
    await Promise.all([request(multi(trial)), request(getChildren(paths.locks, false))]);
    return [];
  } catch (error) {
    if (!(error instanceof ZooKeeperError)) throw error;
    return [`Locks can't be kept below ${paths.root}. ${error.advice}`];
  }
}
