import { TimerQueue } from '../../lib/common/timer-queue.js';
import type { DriverEvents } from '../../lib/stores/ordered/ordered-driver.js';
import type { LockStoreClient, MonotonicMs } from '../../lib/stores/port/lock-store.js';
import type { Request } from '../../lib/stores/zookeeper/connection/zookeeper-connection.js';
import { ZooKeeperDriver } from '../../lib/stores/zookeeper/zookeeper-driver.js';
import { resolveZooKeeperOptions } from '../../lib/stores/zookeeper/zookeeper-options.js';

/** A driver below the path `/l` that is not connected, and whose requests are answered by a function. */
export function requestsOf(request: Request): ZooKeeperDriver {
  const client = { id: 'client', watchdogTimeout: 30_000, now: () => 0 as MonotonicMs } as LockStoreClient;
  const timers = new TimerQueue({ monotonic: () => client.now() }, false);
  const options = resolveZooKeeperOptions({ hosts: '127.0.0.1:1', path: '/l' });
  const driver = new ZooKeeperDriver(options, { client, timers } as unknown as DriverEvents);
  Object.assign((driver as unknown as { connection: object }).connection, { request });
  return driver;
}
