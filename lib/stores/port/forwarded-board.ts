import type { LockBoard } from './lock-store.js';

/** A board that another one, which may be elsewhere each time, stands behind. */
export function forwardedBoard(at: <T>(request: (board: LockBoard) => Promise<T>) => Promise<T>): LockBoard {
  return {
    watch: (ttl) => at((board) => board.watch(ttl)),
    isWatched: () => at((board) => board.isWatched()),
    publish: (name, text, ttl) => at((board) => board.publish(name, text, ttl)),
    read: () => at((board) => board.read()),
  };
}
