import { inMs } from '../../../common/durations.js';
import { randomUUID } from 'node:crypto';
import type { LockStoreClient } from '../../port/lock-store.js';
import { longestLease, timeoutForLease } from '../locks/longest-lease.js';
import type { ResolvedZooKeeperOptions } from '../zookeeper-options.js';
import { create, createContainer, getChildren, multi, NODE, remove } from './operations.js';
import type { ZooKeeperHost } from './server-socket.js';
import { versionOf } from './server-version.js';
import type { Request } from './zookeeper-connection.js';
import { ZooKeeperError } from './zookeeper-error.js';
import { zooKeeperFailure } from './zookeeper-failure.js';
import type { SessionIdentity } from './zookeeper-socket.js';

/** Finds out once whether locks can be kept there, and tells the operator what will go wrong. */
export class StartCheck {
  description: string | undefined;
  private isDone = false;

  constructor(
    private readonly options: ResolvedZooKeeperOptions,
    private readonly client: LockStoreClient,
  ) {}

  /** @param host to which the connection leads that was just opened */
  async check(
    request: Request,
    { timeout }: SessionIdentity,
    host: ZooKeeperHost | undefined,
  ): Promise<void> {
    if (this.isDone) return;
    const [version, rights] = await Promise.all([
      host && versionOf(host, this.options.tls),
      this.rightsWarnings(request),
    ]);
    const name = version === undefined ? 'ZooKeeper' : `ZooKeeper ${version}`;
    this.description = `${name}, session timeout ${inMs(timeout)}`;
    this.isDone = true;
    for (const warning of [...this.timeoutWarnings(timeout), ...rights]) this.client.warn(warning);
  }

  private timeoutWarnings(timeout: number): string[] {
    const { watchdogTimeout } = this.client;
    if (watchdogTimeout <= longestLease(timeout)) return [];
    const needed = String(timeoutForLease(watchdogTimeout));
    return [
      `ZooKeeper keeps the session for ${inMs(timeout)} only, which is too short for locks with watchdogTimeout: ` +
        `${String(watchdogTimeout)}: they will be refused. Set maxSessionTimeout of the servers to ${needed} or more` +
        `${this.options.sessionTimeout === undefined ? '' : `, and sessionTimeout to ${needed}`}, or watchdogTimeout to ` +
        `${String(longestLease(timeout))} or less.`,
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
      return [`Locks can't be kept below ${paths.root}. ${zooKeeperFailure(error).message}.`];
    }
  }
}
