import { describe, expect, it } from '@jest/globals';
import { MemoryLockStore, type LockHandle, type ReleaseOutcome } from '../../../lib/index.js';
import { Random } from '../../soak/random.mjs';
import { LockApp } from '../../support/lock-app.js';

const KEY = 'k';
const MODES = ['exclusive', 'shared'] as const;
type Mode = (typeof MODES)[number];

/** A hold as the rules of re-entrancy see it: a count of holds that have not ended, like a re-entrant lock of Java. */
class ModelHold {
  readonly inside: ModelHold[] = [];
  hasEnded = false;
  isLost = false;

  constructor(
    readonly handle: LockHandle,
    readonly mode: Mode,
    readonly outer: ModelHold | undefined,
  ) {
    outer?.inside.push(this);
  }

  get isHeld(): boolean {
    return !this.hasEnded && !this.isLost;
  }

  /** Whether this hold, or one inside it, keeps the lock. */
  get keeps(): boolean {
    return this.isHeld || this.inside.some((inner) => inner.keeps);
  }

  /** B52, B55: one at a time, or several readers. */
  admits(mode: Mode): boolean {
    const inside = this.inside.filter((inner) => inner.keeps);
    return inside.every((inner) => inner.mode === 'shared' && mode === 'shared');
  }

  lose(): void {
    // Work that has ended is not notified.
    if (!this.hasEnded) this.isLost = true;
    for (const inner of this.inside) inner.lose();
  }

  end(): ReleaseOutcome {
    this.hasEnded = true;
    if (this.isLost) return 'expired';
    return this.keeps ? 'kept' : 'released';
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('nested holds in random order, beside a model', () => {
  it.each(Array.from({ length: 5 }, (_, seed) => seed + 1))('B50, B52, B53, B55: seed %i', async (seed) => {
    const store = new MemoryLockStore();
    const options = { store, shutdownTimeout: 0 };
    const apps = await Promise.all([LockApp.start(options), LockApp.start(options)]);
    const random = new Random(seed);
    const pick = <T>(all: readonly T[]): T | undefined => all[random.between(0, all.length - 1)];
    let roots: ModelHold[] = [];
    let all: ModelHold[] = [];
    const counts = { released: 0, kept: 0, expired: 0, unknown: 0, refused: 0 };

    const steps: readonly (() => Promise<void>)[] = [
      async function acquire() {
        const mode = random.pick(MODES);
        const handle = await random.pick(apps).locks.tryAcquire(KEY, { mode });
        const isFree = roots.every((root) => mode === 'shared' && root.mode === 'shared');
        expect(handle !== null).toBe(isFree);
        if (handle) roots.push(new ModelHold(handle, mode, undefined));
      },
      async function reenter() {
        const outer = pick(all.filter(({ isHeld }) => isHeld));
        if (outer === undefined) return;
        const mode = outer.mode === 'shared' ? 'shared' : random.pick(MODES);
        const locks = apps.map((app) => app.locks);
        const handle = await outer.handle.run((own) => {
          const its = locks.find((each) => each.current(KEY) === own);
          return its?.tryAcquire(KEY, { mode });
        });
        expect(handle !== null).toBe(outer.admits(mode));
        if (handle) all.push(new ModelHold(handle, mode, outer));
        else counts.refused += 1;
      },
      async function release() {
        const hold = pick(all.filter(({ hasEnded }) => !hasEnded));
        if (hold === undefined) return;
        const outcome = hold.end();
        expect(await hold.handle.release()).toBe(outcome);
        counts[outcome] += 1;
      },
      async function breakAll() {
        if (!random.chance(0.2)) return;
        expect(await random.pick(apps).admin.forceRelease(KEY)).toBe(roots.length > 0);
        for (const root of roots) root.lose();
      },
    ];

    for (let step = 0; step < 1_000; step += 1) {
      await steps[random.pick([0, 1, 1, 1, 2, 2, 3])]?.();
      await settled();
      roots = roots.filter((root) => root.keeps);
      const known = new Set([...roots, ...all]);
      all = [...known].filter((hold) => hold.keeps || !hold.hasEnded);
      expect(all.map(({ handle }) => handle.isHeld)).toEqual(all.map(({ isHeld }) => isHeld));
      expect(await apps[0].locks.isLocked(KEY)).toBe(roots.length > 0);
      const held = apps.flatMap(({ admin }) => admin.held());
      expect(held).toHaveLength(roots.length);
    }
    const { unknown, ...seen } = counts;
    expect({ unknown, rarest: Math.min(...Object.values(seen)) > 5 }).toEqual({ unknown: 0, rarest: true });
    await Promise.all(all.map(({ handle }) => handle.release()));
    await settled();
    expect(apps.flatMap(({ admin }) => admin.held())).toEqual([]);
    expect(await apps[0].locks.isLocked(KEY)).toBe(false);
    await Promise.all(apps.map((app) => app.close()));
  });
});
