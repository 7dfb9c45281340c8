import type { Redis } from 'ioredis';
import type { Socket } from 'node:net';
import { MIN_STALL } from '../../port/times.js';

/** What ioredis opens its connections with. */
interface Connecting {
  readonly connector: { connect(...args: readonly unknown[]): Promise<Socket> };
}

/**
 * Has an attempt to connect given up after `connectTimeout`, but not because this process was busy: a connection that is
 * there by then is noticed first, and after the process stood still the server has the whole time once more. ioredis
 * gives up in both cases.
 */
export function withConnectTimeout(client: Redis): Redis {
  const { connector } = client as unknown as Connecting;
  const connect = connector.connect.bind(connector);
  connector.connect = async (...args) => {
    const socket = await connect(...args);
    if (socket.connecting) giveTime(socket);
    return socket;
  };
  return client;
}

function giveTime(socket: Socket): void {
  const set = socket.setTimeout.bind(socket);
  /** Whether the server has its time once more: a process that stands still again and again would never give up. */
  let hasBeenExtended = false;
  socket.setTimeout = (ms, giveUp) => {
    if (giveUp === undefined) return set(ms);
    const dueAt = performance.now() + ms;
    return set(ms, () => {
      const stoodStill = performance.now() - dueAt > MIN_STALL;
      // After what has arrived is known.
      setImmediate(() => {
        if (!stoodStill || hasBeenExtended || !socket.connecting) giveUp();
        else {
          hasBeenExtended = true;
          socket.setTimeout(ms, giveUp);
        }
      });
    });
  };
}
