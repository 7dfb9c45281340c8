import type { Cluster, Redis } from 'ioredis';
import type { Socket } from 'node:net';

/** Where ioredis keeps the socket of a client, and makes the clients that ask sentinels. */
interface Connector {
  stream?: Socket | null;
  connectToSentinel?: (...args: unknown[]) => Redis;
}

/** Where ioredis keeps the connection by which a cluster tells of itself. */
interface ClusterParts {
  readonly subscriber?: { subscriber?: Redis | null };
}

/**
 * Sees to it that no failure of a socket ends the process. TLS that is ended before its handshake is over fails twice if
 * the certificate is not trusted: for that, and for the server's answer to the early end. ioredis listens for the first
 * failure of a socket only, and Node throws what nobody listens for.
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

/** As {@link withGuardedSockets}, for the client that is asked for the map of a cluster. */
export function withGuardedNodes(cluster: Cluster): Cluster {
  const { subscriber } = cluster as unknown as ClusterParts;
  if (subscriber) whenSet(subscriber, 'subscriber', withGuardedSockets);
  cluster.on('+node', (node: Redis) => {
    withGuardedSockets(node);
    // The map is asked for over connections of their own.
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
