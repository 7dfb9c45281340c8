import { Socket } from 'node:net';

/** Calls `seen` before any socket of this process connects or sends something, until the returned function is called. */
export function watchSockets(seen: (socket: Socket) => void): () => void {
  const undo = [override('connect', seen), override('write', seen)];
  return () => {
    for (const one of undo) one();
  };
}

function override(name: 'connect' | 'write', seen: (socket: Socket) => void): () => void {
  const { prototype } = Socket;
  const own = Object.getOwnPropertyDescriptor(prototype, name);
  const original = Reflect.get(prototype, name) as (this: Socket, ...args: unknown[]) => unknown;
  const value = function (this: Socket, ...args: unknown[]): unknown {
    seen(this);
    return original.apply(this, args);
  };
  Object.defineProperty(prototype, name, { value, configurable: true, writable: true });
  return () => {
    if (own) Object.defineProperty(prototype, name, own);
    else Reflect.deleteProperty(prototype, name);
  };
}
