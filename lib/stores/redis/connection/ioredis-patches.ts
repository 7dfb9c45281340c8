import type { Socket } from 'node:net';
import type { Cluster, Redis } from 'ioredis';
import { inMs } from '../../../common/durations.js';
import { ReplyTimeout } from '../../port/times.js';

/** Corrects how ioredis handles the reply timeout and socket errors, for one client. */
export function patched(client: Redis): Redis {
  patchReplyTimeout(client);
  return withGuardedSockets(client);
}

/** The parts of ioredis that implement `socketTimeout`. */
interface Timed {
  readonly stream: NodeJS.EventEmitter & { destroy(error: Error): unknown };
  readonly commandQueue: { readonly length: number };
  readonly options: { readonly socketTimeout?: number };
  /** While it is undefined, the next command calls `setSocketTimeout`. */
  socketTimeoutTimer: NodeJS.Timeout | undefined;
  setSocketTimeout(): void;
}

/**
 * Closes a connection that has owed a reply for longer than `socketTimeout`. ioredis also closes it when this process
 * was busy; ioredis 5 also leaves its timer running when a connection closes, and the timer then closes the next one.
 */
function patchReplyTimeout(client: Redis): void {
  const timed = client as unknown as Timed;
  const { socketTimeout = 0 } = timed.options;
  let watched: Timed['stream'] | undefined;
  const timeout = new ReplyTimeout(socketTimeout, () => {
    timed.socketTimeoutTimer = undefined;
    watched?.destroy(new Error(`no answer within ${inMs(socketTimeout)}`));
  });
  const start = (): void => {
    timeout.start();
    timed.socketTimeoutTimer = timeout.timer;
  };
  const onData = (): void => {
    if (timed.commandQueue.length > 0) start();
    else {
      timeout.pause();
      timed.socketTimeoutTimer = undefined;
    }
  };
  timed.setSocketTimeout = () => {
    const { stream } = timed;
    if (stream !== watched) {
      watched = stream;
      // Runs after the listener that takes replies out of the queue.
      stream.on('data', onData);
    }
    start();
  };
  client.on('close', () => {
    timeout.stop();
    timed.socketTimeoutTimer = undefined;
  });
}

/** The parts of ioredis that hold the socket of a client and create the clients for sentinels. */
interface Connector {
  stream?: Socket | null;
  connectToSentinel?: (...args: unknown[]) => Redis;
}

/**
 * Keeps socket errors from ending the process. If TLS ends before its handshake and the certificate is not trusted, the
 * socket fails twice: for the certificate, and for the server's reply to the early end. ioredis listens to the first
 * error only, and Node throws an error without a listener.
 */
function withGuardedSockets(client: Redis): Redis {
  const { connector } = client as unknown as { readonly connector: Connector };
  whenSet(connector, 'stream', (socket) => socket.on('error', () => undefined));
  const { connectToSentinel } = connector;
  if (connectToSentinel) {
    connector.connectToSentinel = (...args) => withGuardedSockets(connectToSentinel.apply(connector, args));
  }
  return client;
}

/** The same for the client that reads the slot map of a cluster. */
export function withGuardedNodes(cluster: Cluster): Cluster {
  const { subscriber } = cluster as unknown as { readonly subscriber?: { subscriber?: Redis | null } };
  if (subscriber) whenSet(subscriber, 'subscriber', withGuardedSockets);
  cluster.on('+node', (node: Redis) => {
    withGuardedSockets(node);
    // ioredis reads the map over duplicates of the nodes.
    const duplicate = node.duplicate.bind(node);
    node.duplicate = (overrides) => withGuardedSockets(duplicate(overrides));
  });
  return cluster;
}

function whenSet<T extends object, K extends keyof T>(
  owner: T,
  name: K,
  act: (value: NonNullable<T[K]>) => unknown,
): void {
  let current = owner[name];
  Object.defineProperty(owner, name, {
    configurable: true,
    enumerable: true,
    get: () => current,
    set: (value: T[K]) => {
      current = value;
      if (value !== null && value !== undefined) act(value);
    },
  });
}

/**
 * ioredis stops permanently when a sentinel reports a failover while ioredis is looking for the primary: it has no
 * connection to close yet, and mistakes the call for a `disconnect()` by the user. Connects again until it is closed.
 */
export function reconnectingForever(client: Redis): Redis {
  let isClosed = false;
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    isClosed ||= !reconnect;
    disconnect(reconnect);
  };
  client.on('end', () => {
    // Failures are reported by events.
    if (!isClosed) client.connect().catch(() => undefined);
  });
  return client;
}
