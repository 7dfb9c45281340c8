import type { Socket } from 'node:net';
import type { Cluster, Redis } from 'ioredis';

/** The parts of ioredis that hold the socket of a client and create the clients for sentinels. */
interface Connector {
  stream?: Socket | null;
  connectToSentinel?: (...args: unknown[]) => Redis;
}

/**
 * Keeps socket errors from ending the process. If TLS ends before its handshake and the certificate is not trusted, the
 * socket fails twice: for the certificate, and for the server's reply to the early end. ioredis listens to the first
 * error only, and Node throws an error without a listener (https://github.com/redis/ioredis/pull/962).
 */
export function withGuardedSockets(client: Redis): Redis {
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
