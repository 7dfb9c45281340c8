import { inMs } from '../../../common/durations.js';
import { randomUUID } from 'node:crypto';
import type { LockStoreClient } from '../../port/lock-store.js';
import { goneAfter, longestLease, timeoutForLease, type SessionTimes } from '../locks/session-times.js';
import type { ResolvedZooKeeperOptions } from '../zookeeper-options.js';
import { create, createContainer, getChildren, multi, NODE, remove } from './operations.js';
import type { ZooKeeperHost } from './server-socket.js';
import { versionOf } from './server-version.js';
import type { Request } from './zookeeper-connection.js';
import { ZooKeeperError } from './zookeeper-error.js';
import { zooKeeperFailure } from './zookeeper-failure.js';

/** Finds out once whether locks can be kept there, and tells the operator what will go wrong. */
export class StartCheck {
  description: string | undefined;
  private isDone = false;

  constructor(
    private readonly options: ResolvedZooKeeperOptions,
    private readonly client: LockStoreClient,
  ) {}

  /** @param connection that was just opened */
  async check(
    request: Request,
    { host, times }: { readonly host: ZooKeeperHost | undefined; readonly times: SessionTimes | undefined },
  ): Promise<void> {
    if (this.isDone || times === undefined) return;
    const [version, rights] = await Promise.all([
      host && versionOf(host, this.options.tls),
      this.rightsWarnings(request),
    ]);
    const name = version === undefined ? 'ZooKeeper' : `ZooKeeper ${version}`;
    this.description = `${name}, session timeout ${inMs(times.timeout)}`;
    this.isDone = true;
    for (const warning of [...this.timeoutWarnings(times), ...rights]) this.client.warn(warning);
  }

  private timeoutWarnings(times: SessionTimes): string[] {
    const { watchdogTimeout } = this.client;
    const { timeout, tick } = times;
    const needed = timeoutForLease(watchdogTimeout, tick);
    const isSet = this.options.sessionTimeout !== undefined;
    const longest = longestLease(times);
    if (longest < watchdogTimeout) {
      return [
        `ZooKeeper keeps the session for ${inMs(timeout)} only: a process without contact loses its locks after ` +
          `${inMs(longest)}, before its watchdogTimeout of ${inMs(watchdogTimeout)}. Set maxSessionTimeout of the ` +
          `servers to ${String(needed)} or more${isSet ? `, and sessionTimeout to ${String(needed)}` : ''}, or watchdogTimeout to ` +
          `${String(longest)} or less.`,
      ];
    }
    const due = Math.ceil((watchdogTimeout * 1.5) / 1_000) * 1_000;
    if (goneAfter(times) <= due) return [];
    // Whatever the tick is, two of it and 1.1 times watchdogTimeout are what the default takes.
    const remedy =
      timeout > needed && isSet
        ? `sessionTimeout of zookeeperStore to ${String(needed)}, or leave it out`
        : `tickTime of the servers, which seems to be ${inMs(tick)}, to ${String(Math.floor(watchdogTimeout / 5))} or ` +
          `less (and leave minSessionTimeout out), or watchdogTimeout to ${String(tick * 5)} or more`;
    return [
      `A lock whose process died stays taken for up to ${inMs(goneAfter(times))} on these servers, longer than 1.5 times ` +
        `watchdogTimeout (${inMs(due)}). Set ${remedy}.`,
    ];
  }

  /** Does once what locks do, where they do it. What is next to them, the connection has done already. */
  private async rightsWarnings(request: Request): Promise<string[]> {
    const { acl, paths } = this.options;
    const lock = paths.ofTrial(randomUUID());
    const place = `${lock}/x`;
    const nothing = new Uint8Array();
    try {
      await Promise.all([
        // Nothing is left of it, whatever happens meanwhile.
        request(
          multi([
            createContainer(lock, acl),
            create(place, nothing, acl, NODE.ephemeral),
            remove(place),
            remove(lock),
          ]),
        ),
        request(getChildren(paths.locks, false)),
      ]);
      return [];
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      return [`Locks can't be kept below ${paths.root}. ${zooKeeperFailure(error).advice}`];
    }
  }
}
