import { describe, expect, it } from '@jest/globals';
import { LockOptionsError, type LockOptions } from '../../lib/index.js';
import { rejectionOf } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** Names that a careless store would confuse with each other, with its own names, or with its query language. */
const oddKeys = [
  ...Array.from(' aA"\'`\\*?éß鍵0\ufeff😀\0'),
  'a ',
  ' a',
  'a:b',
  'a::b',
  'a:b:',
  '{a}',
  '{a',
  'a}',
  '}a{',
  '{}',
  '{}a',
  '{{a}}',
  '{a}b',
  '{a}:queue',
  'a:queue',
  '{a}:waiters',
  'a:waiters',
  'a:gone',
  'a:fence',
  'fence',
  '{fence}',
  'lock:a',
  'lock:{a}',
  '{lock:a}',
  '{lock:a}:queue',
  'lock:{a}:queue',
  '{lock:{a}}',
  '{lock:a}:waiters',
  '{lock:a}:gone',
  'queue:{a}',
  'queue',
  'a\r\nb',
  'a\nb',
  '\r\n$3\r\nDEL\r\n',
  'a\0',
  'a\0b',
  "a'b",
  "a'); redis.call('FLUSHALL') --",
  ']] .. redis.call("FLUSHALL") .. [[',
  '-- @include clock',
  '%s %d %%',
  '[a]',
  'e\u0301',
  '\u202eabc',
  '__proto__',
  'constructor',
  'toString',
  'undefined',
  'null',
  '-1',
  'x'.repeat(1024),
  'x'.repeat(1023),
  'é'.repeat(512),
];

const badKeys: unknown[] = [
  '',
  'x'.repeat(1025),
  'é'.repeat(512) + 'x',
  '\ud800',
  'a\udc00b',
  '\udc00\ud800',
  undefined,
  null,
  7,
  {},
  Symbol('key'),
  () => 'key',
];

export function keyRules(context: ContractContext): void {
  describe('keys and options', () => {
    it('B70, F45: odd keys are all different locks', async () => {
      const keys = oddKeys.filter((key) => context.store.accepts?.(key) ?? true);
      const app = await context.app();
      const other = await context.app();
      expect(new Set(keys).size).toBe(keys.length);
      const handles = await Promise.all(keys.map((key) => app.locks.acquire(key, { waitTime: 0 })));
      expect(await Promise.all(keys.map((key) => other.locks.tryAcquire(key)))).toEqual(keys.map(() => null));
      const infos = await Promise.all(keys.map((key) => other.admin.inspect(key)));
      expect(infos.map((info) => info?.token)).toEqual(handles.map(({ token }) => token));
      expect(handles.map(({ key }) => key)).toEqual(keys);
      for (const [index, handle] of handles.entries()) {
        expect(handle.isHeld).toBe(true);
        expect(await handle.release()).toBe('released');
        const next = keys[index + 1];
        if (next !== undefined) expect(await other.locks.isLocked(next)).toBe(true);
      }
    });

    it('B70, F45: waiters of odd keys get their own lock', async () => {
      const keys = oddKeys.filter((key) => context.store.accepts?.(key) ?? true);
      const [app, other] = await context.fleet(2);
      const handles = await Promise.all(keys.map((key) => app.locks.acquire(key)));
      const waiting = keys.map((key) => other.locks.acquire(key, { waitTime: 15_000 }));
      await Promise.all([...handles].reverse().map((handle) => handle.release()));
      const got = await Promise.all(waiting);
      expect(got.map(({ key }) => key)).toEqual(keys);
      for (const [index, handle] of got.entries()) {
        expect(handle.token).toBeGreaterThan(handles[index]?.token ?? Infinity);
      }
      await Promise.all(got.map((handle) => handle.release()));
    });

    it('F40: bad keys are LockOptionsErrors of every call, and nothing is sent', async () => {
      const app = await context.app();
      for (const bad of badKeys) {
        const key = bad as string; // as a caller without a compiler would
        const calls = [
          () => app.locks.acquire(key),
          () => app.locks.tryAcquire(key),
          () => app.locks.withLock(key, () => undefined),
          () => app.locks.isLocked(key),
          () => app.admin.inspect(key),
          () => app.admin.forceRelease(key),
        ];
        for (const call of calls) {
          expect(await rejectionOf(Promise.resolve().then<unknown>(call))).toBeInstanceOf(LockOptionsError);
        }
        expect(() => app.locks.assertHeld(key)).toThrow(LockOptionsError);
      }
      expect(app.seen).toEqual([]);
      expect(await context.store.leftovers()).toEqual([]);
    });

    it('F40: bad options are LockOptionsErrors that echo the value, and nothing is sent', async () => {
      const app = await context.app();
      const key = context.key();
      const bad: [string, unknown][] = [
        ...[-1, NaN, -Infinity, 2 ** 31, '100', null, true, {}].map((value): [string, unknown] => [
          'waitTime',
          value,
        ]),
        ...[0, -1, NaN, Infinity, 2 ** 31, '100', null, {}].map((value): [string, unknown] => [
          'leaseTime',
          value,
        ]),
        ...['abort', {}, 5, null].map((value): [string, unknown] => ['signal', value]),
        ...['ignore', true, null, 1].map((value): [string, unknown] => ['onLost', value]),
        ...['no', 1, null].map((value): [string, unknown] => ['reentrant', value]),
        ['leasetime', 1_000],
        ...['read', 'write', true, 1, null].map((value): [string, unknown] => ['mode', value]),
        ...[0, -1, 1.5, NaN, Infinity, 1_000_001, '5', true, null].map((value): [string, unknown] => [
          'limit',
          value,
        ]),
        ...[-1, NaN, Infinity, 2 ** 31, '100', null].map((value): [string, unknown] => [
          'holdAtLeast',
          value,
        ]),
        ...['', 'a'.repeat(201), '\ud800', 5, true, null].map((value): [string, unknown] => ['label', value]),
      ];
      for (const [name, value] of bad) {
        const options = { [name]: value } as LockOptions;
        for (const call of [
          () => app.locks.acquire(key, options),
          () => app.locks.tryAcquire(key, options),
          () => app.locks.withLock(key, options, () => undefined),
        ]) {
          const error = await rejectionOf(Promise.resolve().then<unknown>(call));
          expect(error).toBeInstanceOf(LockOptionsError);
          expect((error as Error).message).toContain(name);
          if (name.endsWith('Time') && typeof value === 'number')
            expect((error as Error).message).toContain(String(value));
        }
      }
      expect(app.seen).toEqual([]);
      expect(await context.store.leftovers()).toEqual([]);
    });

    it('F40: whatever is passed in place of options is a LockOptionsError', async () => {
      const app = await context.app();
      const key = context.key();
      for (const value of [5_000, null, 'fair', [], true, () => undefined]) {
        const options = value as unknown as LockOptions;
        for (const call of [
          () => app.locks.acquire(key, options),
          () => app.locks.tryAcquire(key, options),
          () => app.admin.list(options as object),
          () => app.admin.forceRelease(key, options as object),
          ...(typeof value === 'function' ? [] : [() => app.locks.withLock(key, options, () => undefined)]),
        ]) {
          const error = await rejectionOf(call());
          expect(error).toBeInstanceOf(LockOptionsError);
          expect((error as Error).message).toContain('options must be an object; got ');
        }
      }
    });

    it('F40: options that exclude each other are rejected before anything is sent, with both values', async () => {
      const app = await context.app();
      const key = context.key();
      const bad: [object, RegExp][] = [
        [{ mode: 'shared', limit: 5 }, /mode 'shared' and limit 5/],
        [{ mode: 'exclusive', limit: 1 }, /mode 'exclusive' and limit 1/],
        [{ leaseTime: 1_000, holdAtLeast: 1_001 }, /holdAtLeast \(1001 ms\).*leaseTime \(1000 ms\)/],
      ];
      for (const [options, message] of bad) {
        const error = await rejectionOf(app.locks.acquire(key, options));
        expect(error).toBeInstanceOf(LockOptionsError);
        expect((error as Error).message).toMatch(message);
      }
      expect(await context.store.leftovers()).toEqual([]);
    });

    it('F40: bad module options are LockOptionsErrors at the start', async () => {
      const bad: object[] = [
        ...[0, -1, NaN, Infinity, 2 ** 31, '5'].map((watchdogTimeout) => ({ watchdogTimeout })),
        ...[-1, NaN, 2 ** 31, '5'].map((waitTime) => ({ waitTime })),
        ...[-1, NaN, 2 ** 31, '5'].map((shutdownTimeout) => ({ shutdownTimeout })),
        { watchdogTimeOut: 1_000 },
      ];
      for (const settings of bad) {
        expect(await rejectionOf(context.app(settings))).toBeInstanceOf(LockOptionsError);
      }
    });
  });
}
