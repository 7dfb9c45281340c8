import type { LockBoard } from '../port/lock-store.js';

/** What the modules that share locks in memory leave for people. */
export class MemoryBoard {
  private readonly texts = new Map<string, { readonly text: string; readonly until: number }>();
  private watchedUntil = -Infinity;

  /** For one session, by its clock. */
  at(now: () => number): LockBoard {
    return {
      watch: (ttl) => {
        this.watchedUntil = now() + ttl;
        return Promise.resolve();
      },
      isWatched: () => Promise.resolve(now() < this.watchedUntil),
      publish: (name, text, ttl) => {
        this.texts.set(name, { text, until: now() + ttl });
        return Promise.resolve();
      },
      read: () => {
        for (const [name, { until }] of this.texts) if (until <= now()) this.texts.delete(name);
        return Promise.resolve([...this.texts.values()].map(({ text }) => text));
      },
    };
  }
}
