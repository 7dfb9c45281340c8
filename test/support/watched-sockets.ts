import { Socket } from 'node:net';

/** Acts on a socket: `push` is received data. */
const ACTS = ['connect', 'write', 'end', 'destroy', 'push'] as const;

type Seen = (socket: Socket, act: (typeof ACTS)[number]) => void;

/**
 * Calls `seen` before any socket of this process connects, writes, closes, or hands on received data, until the returned
 * function is called.
 */
export function watchSockets(seen: Seen): () => void {
  const undo = ACTS.map((act) => override(act, seen));
  return () => {
    for (const one of undo) one();
  };
}

function override(act: (typeof ACTS)[number], seen: Seen): () => void {
  const { prototype } = Socket;
  const own = Object.getOwnPropertyDescriptor(prototype, act);
  const original = Reflect.get(prototype, act) as (this: Socket, ...args: unknown[]) => unknown;
  const value = function (this: Socket, ...args: unknown[]): unknown {
    seen(this, act);
    return original.apply(this, args);
  };
  Object.defineProperty(prototype, act, { value, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(prototype, act, own);
    else Reflect.deleteProperty(prototype, act);
  };
}
