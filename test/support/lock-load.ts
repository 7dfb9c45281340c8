import { expect } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { LockClosedError, type LockOptions } from '../../lib/index.js';
import { ExclusionWitness } from './exclusion-witness.js';
import type { LockApp } from './lock-app.js';
import { elapse, until } from './until.js';

/** How long each hold works, ms. */
const WORK = 30;
/** How many holds are observed at a time. */
const HOLDS = 20;

export interface LoadedCalls {
  readonly call?: LockOptions;
  /** How many keys each call acquires. Default 1. */
  readonly keys?: number;
}

/** Several applications that work under one lock all the time. */
export class LockLoad {
  private readonly witness = new ExclusionWitness();
  private readonly failures: unknown[] = [];
  /** How long clients waited for their holds, ms. */
  private waits: number[] = [];
  private readonly pending = new Set<{ readonly since: number }>();
  private isOver = false;
  private readonly workers: readonly Promise<void>[];

  constructor(
    private readonly apps: readonly LockApp[],
    { keys = 1, call = {} }: LoadedCalls = {},
  ) {
    const name = randomUUID();
    const key = keys === 1 ? name : Array.from({ length: keys }, (_, index) => `${name}-${String(index)}`);
    this.workers = apps.map((app) => this.work(app, key, call));
  }

  /** The longest wait of the next holds, ms, and of those that still wait. */
  async longestWait(): Promise<number> {
    this.waits = [];
    await until(`${String(HOLDS)} holds`, () => this.waits.length >= HOLDS, { deadline: 30_000 });
    return Math.max(...this.waits, ...Array.from(this.pending, ({ since }) => performance.now() - since));
  }

  async stop(): Promise<void> {
    this.isOver = true;
    await Promise.all(this.workers);
  }

  /**
   * Fails if a call has failed, or a hold was lost.
   *
   * @param limit how many may have held the lock at once
   */
  async end(limit = 1): Promise<void> {
    await this.stop();
    expect(this.failures).toEqual([]);
    expect(this.apps.flatMap((app) => app.events('lost'))).toEqual([]);
    expect(this.witness.most).toBe(limit);
  }

  private async work({ locks }: LockApp, key: string | string[], call: LockOptions): Promise<void> {
    while (!this.isOver) {
      const wait = { since: performance.now() };
      this.pending.add(wait);
      const held = async (): Promise<void> => {
        this.pending.delete(wait);
        this.waits.push(performance.now() - wait.since);
        this.witness.enter();
        await elapse(WORK);
        this.witness.leave();
      };
      try {
        await locks.withLock(key, { waitTime: 20_000, ...call }, held);
      } catch (error) {
        this.failures.push(error);
        if (error instanceof LockClosedError) return;
      }
    }
  }
}
