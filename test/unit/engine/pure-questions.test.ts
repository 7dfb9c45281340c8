import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { inspect } from 'node:util';
import type { Hold } from '../../../lib/engine/hold.js';
import type { LockEngine } from '../../../lib/engine/lock-engine.js';
import { MemoryLockStore } from '../../../lib/index.js';
import { resolveLockOptions } from '../../../lib/model/lock.options.js';
import { engineOn, fakeClock } from '../../support/engines.js';
import { SpiedStore } from '../../support/spied-store.js';

const optionsOf = (options: object) => resolveLockOptions('a test', options, 5_000);

/** All properties of an object that are computed by a getter. */
function gettersOf(object: object): readonly string[] {
  const names: string[] = [];
  for (
    let type = Object.getPrototypeOf(object) as object | null;
    type !== null && type !== Object.prototype;
  ) {
    const properties = Object.entries(Object.getOwnPropertyDescriptors(type));
    names.push(...properties.filter(([, { get }]) => get !== undefined).map(([name]) => name));
    type = Object.getPrototypeOf(type) as object | null;
  }
  // Created on first use: an `AbortController`, a queue and a turn without an effect.
  return names.filter((name) => !['signal', 'reentry', 'turn'].includes(name));
}

/** Methods that ask and do nothing. */
const QUESTIONS = ['isGood', 'isSure', 'sureFor', 'isOverdue', 'keepsOut', 'remaining', 'mayBeOver'];

function askAll(subject: object, ...args: readonly unknown[]): void {
  for (const name of gettersOf(subject)) Reflect.get(subject, name);
  for (const name of QUESTIONS) {
    const question: unknown = Reflect.get(subject, name);
    if (typeof question === 'function') Reflect.apply(question, subject, args);
  }
}

describe('questions of the engine', () => {
  let engine: LockEngine;
  let store: SpiedStore;
  let events: string[];

  beforeEach(async () => {
    jest.useFakeTimers({ doNotFake: ['queueMicrotask', 'nextTick', 'setImmediate'] });
    store = new SpiedStore(new MemoryLockStore());
    engine = engineOn(store, {}, fakeClock);
    events = [];
    engine.hub.events.subscribe(({ type }) => events.push(type));
    await engine.start();
  });
  afterEach(async () => {
    await engine.close();
    jest.useRealTimers();
  });

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const stateOf = (hold: Hold): string => {
    const { ticket } = hold;
    const parts = [hold, ticket, engine.lines.get('key'), [...engine.tickets.byOwner.values()]];
    return inspect(parts, { depth: 4, customInspect: false }) + events.join() + String(store.asked.length);
  };

  /** Asks everything 100 times between two events, and finds the same state. */
  const unchangedBy = (hold: Hold): void => {
    const line = engine.lines.get('key');
    const before = stateOf(hold);
    for (let times = 0; times < 100; times++) {
      const now = fakeClock.monotonic();
      askAll(hold, now);
      askAll(hold.ticket, now, now);
      askAll(engine.tickets, hold.ticket, now);
      if (line !== undefined) askAll(line, hold.limit, now);
    }
    // Jest takes minutes to print the difference.
    expect(stateOf(hold) === before).toBe(true);
  };

  it.each([
    ['an exclusive lock', {}],
    ['a lock with a leaseTime', { leaseTime: 1_000 }],
    ['readers', { mode: 'shared' }],
    ['permits', { limit: 2 }],
  ] as const)('P34: change nothing, whatever the state: %s', async (_, terms) => {
    const hold = await engine.acquire('key', optionsOf(terms));
    unchangedBy(hold);
    await settled();
    unchangedBy(hold);
    const waiting = engine.acquire('key', optionsOf({ ...terms, fair: true }));
    await settled();
    unchangedBy(hold);
    // The lease has run out, and no timer has fired yet: the handle says so, and nobody has been told.
    jest.setSystemTime(Date.now() + 40_000);
    expect(hold.isHeld).toBe(false);
    expect(hold.isOver).toBe(true);
    expect(hold.remaining).toBe(0);
    unchangedBy(hold);
    expect(events).not.toContain('lost');
    expect(() => {
      hold.assertHeld();
    }).toThrow('was lost');
    expect(events).toContain('lost');
    unchangedBy(hold);
    await hold.release();
    unchangedBy(hold);
    jest.advanceTimersByTime(5_000);
    await (await waiting.catch(() => undefined))?.release();
  });
});
