import type { LockBoard } from '../port/lock-store.js';
import { asked } from '../port/store-failure.js';

/**
 * What processes leave for people, at all members that there are: one that is in reach is enough. Of a text that was
 * replaced while a member was away, that one gives the older.
 */
export function quorumBoard(boards: readonly LockBoard[]): LockBoard {
  const each = async <T>(request: (board: LockBoard) => Promise<T>): Promise<readonly T[]> => {
    const replies = await Promise.allSettled(boards.map((board) => asked(() => request(board))));
    const given = replies.flatMap((reply) => (reply.status === 'fulfilled' ? [reply.value] : []));
    const failed = replies.find((reply) => reply.status === 'rejected');
    if (given.length === 0 && failed !== undefined) throw failed.reason;
    return given;
  };
  return {
    watch: async (ttl) => {
      await each((board) => board.watch(ttl));
    },
    isWatched: async () => (await each((board) => board.isWatched())).includes(true),
    publish: async (name, text, ttl) => {
      await each((board) => board.publish(name, text, ttl));
    },
    read: async () => [...new Set((await each((board) => board.read())).flat())],
  };
}
