import { setTimeout as nativeSetTimeout } from 'node:timers';
import type { Socket } from 'node:net';
import type { Cluster, Redis } from 'ioredis';
import { inMs } from '../../../common/durations.js';
import { MIN_STALL } from '../../port/times.js';

/** Corrects how ioredis handles timeouts and socket errors, for one client. */
export function patched(client: Redis): Redis {
  patchReplyTimeout(client);
  patchConnectTimeout(client);
  return withGuardedSockets(client);
}

/** The parts of ioredis behind `socketTimeout`. */
interface Timed {
  readonly stream: NodeJS.EventEmitter & { destroy(error: Error): unknown };
  readonly commandQueue: { readonly length: number };
  readonly options: { readonly socketTimeout?: number };
  /** While it is undefined, the next command calls `setSocketTimeout`. */
  socketTimeoutTimer: NodeJS.Timeout | undefined;
  setSocketTimeout(): void;
}

/**
 * Cuts a connection that owes a reply for longer than `socketTimeout`, but not because this process was busy: replies that
 * have already arrived are read first, and after a stall the server gets its whole time once more, since neither the
 * request nor the reply may have moved meanwhile. ioredis cuts the connection in both cases; ioredis 5 also leaves its
 * timer running when a connection closes, and the timer then cuts the next one.
 *
 * A reply only moves the deadline: clearing and setting a timer for each reply costs more than decoding it. A timer that
 * fires before the deadline is set again. With fake timers there is one timer per reply, so that tests see them.
 */
function patchReplyTimeout(client: Redis): void {
  const timed = client as unknown as Timed;
  let watched: Timed['stream'] | undefined;
  /** Meaningless while no reply is due. */
  let deadline = 0;
  /** May also run while no reply is due. */
  let timer: NodeJS.Timeout | undefined;
  /** The `setTimeout` that made the timer: a test may have installed or removed fake timers since. */
  let setWith: unknown;
  /** Once only, or a process that stalls again and again would never cut the connection. */
  let isExtended = false;

  const stop = (): void => {
    clearTimeout(timer);
    timer = timed.socketTimeoutTimer = undefined;
  };
  const start = (): void => {
    const { socketTimeout = 0 } = timed.options;
    deadline = performance.now() + socketTimeout;
    if (timer === undefined || setWith !== nativeSetTimeout || globalThis.setTimeout !== nativeSetTimeout) {
      stop();
      run(socketTimeout);
    }
    timed.socketTimeoutTimer = timer;
  };
  const run = (ms: number): void => {
    setWith = globalThis.setTimeout;
    const running = setTimeout(() => {
      if (timer === running) onTimeout();
    }, ms);
    timer = running;
  };
  const onTimeout = (): void => {
    const isReplyDue = timed.socketTimeoutTimer !== undefined;
    const lateBy = performance.now() - deadline;
    timer = undefined;
    if (!isReplyDue) return;
    // Timers may fire a fraction of a millisecond early.
    if (lateBy < -1) {
      run(Math.ceil(-lateBy));
      return;
    }
    const missed = deadline;
    setImmediate(() => {
      // The reply has been read, or the connection has closed.
      if (timed.socketTimeoutTimer === undefined || deadline !== missed) return;
      if (lateBy > MIN_STALL && !isExtended) {
        isExtended = true;
        start();
      } else {
        stop();
        watched?.destroy(new Error(`no answer within ${inMs(timed.options.socketTimeout ?? 0)}`));
      }
    });
  };
  const onData = (): void => {
    isExtended = false;
    if (timed.commandQueue.length > 0) start();
    else if (setWith === nativeSetTimeout) timed.socketTimeoutTimer = undefined;
    else stop();
  };

  timed.setSocketTimeout = () => {
    const { stream } = timed;
    if (stream !== watched) {
      watched = stream;
      // Runs after the listener that takes replies out of the queue.
      stream.on('data', onData);
    }
    isExtended = false;
    start();
  };
  client.on('close', stop);
}

/**
 * Ends an attempt to connect after `connectTimeout`, but not because this process was busy: a connection that is already
 * established is noticed first, and after a stall the server gets its whole time once more. ioredis ends it in both cases.
 */
function patchConnectTimeout(client: Redis): void {
  const { connector } = client as unknown as {
    readonly connector: { connect(...args: readonly unknown[]): Promise<Socket> };
  };
  const connect = connector.connect.bind(connector);
  connector.connect = async (...args) => {
    const socket = await connect(...args);
    if (socket.connecting) patchSocketTimeout(socket);
    return socket;
  };
}

function patchSocketTimeout(socket: Socket): void {
  const set = socket.setTimeout.bind(socket);
  /** Once only, or a process that stalls again and again would never end the attempt. */
  let isExtended = false;
  socket.setTimeout = (ms, onTimeout) => {
    if (onTimeout === undefined) return set(ms);
    const deadline = performance.now() + ms;
    return set(ms, () => {
      const hasStalled = performance.now() - deadline > MIN_STALL;
      // First let a connection that is already there be noticed.
      setImmediate(() => {
        if (!hasStalled || isExtended || !socket.connecting) onTimeout();
        else {
          isExtended = true;
          socket.setTimeout(ms, onTimeout);
        }
      });
    });
  };
}

/** The parts of ioredis that hold the socket of a client and make the clients for sentinels. */
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
 * ioredis stops for good when a sentinel reports a failover while ioredis is looking for the primary: it has no connection
 * yet that it could cut, and takes the call for a `disconnect()` by the user. Connects again until it is closed.
 */
export function reconnectingForever(client: Redis): Redis {
  let isClosed = false;
  const disconnect = client.disconnect.bind(client);
  client.disconnect = (reconnect = false) => {
    isClosed ||= !reconnect;
    disconnect(reconnect);
  };
  client.on('end', () => {
    // Events report a failure.
    if (!isClosed) client.connect().catch(() => undefined);
  });
  return client;
}
