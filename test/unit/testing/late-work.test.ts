import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { PassThrough, Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { type Observable, of, Subject } from 'rxjs';
import { currentLock, LockOptionsError, type LockHandle } from '../../../lib/index.js';
import { FakeLockService } from '../../../lib/testing/index.js';
import { rejectionOf } from '../../support/until.js';

type Work = (lock: LockHandle) => unknown;

/** Everything that runs a function under a lock. */
const RUNNERS: Readonly<Record<string, (locks: FakeLockService, work: Work) => Promise<unknown>>> = {
  'withLock()': (locks, work) => locks.withLock('k', work),
  'withLock() of several keys': (locks, work) => locks.withLock(['k', 'l'], work),
  'handle.run()': async (locks, work) => {
    await using handle = await locks.acquire('k');
    return await handle.run(work);
  },
  'handle.run() of several keys': async (locks, work) => {
    await using handle = await locks.acquire(['k', 'l']);
    return await handle.run(work);
  },
};

async function* numbers(): AsyncGenerator<number> {
  yield 1;
}

const LATE: Readonly<Record<string, () => unknown>> = {
  'an Observable': () => of(1),
  'an async generator': numbers,
  'an async iterable (Rows)': () => new Rows(),
  'a generator': sync,
  'a Readable': () => Readable.from([1]),
  'a stream (PassThrough)': () => new PassThrough(),
  'a ReadableStream': () => new ReadableStream(),
  'a Response whose body has not been read': () => new Response('text'),
  'a StreamableFile': () => new StreamableFile(Readable.from(['text'])),
};

class Rows {
  [Symbol.asyncIterator](): AsyncGenerator<number> {
    return numbers();
  }
}

function* sync(): Generator<number> {
  yield 1;
}

/** A mock or client that has a function under every name. */
const everything: object = new Proxy({}, { get: (_, name) => (name === 'then' ? undefined : () => name) });

const READY: Readonly<Record<string, unknown>> = {
  nothing: undefined,
  null: null,
  text: 'text',
  'an array': [1],
  'a map': new Map([[1, 2]]),
  'a set': new Set([1]),
  'an iterator of a map': new Map([[1, 2]]).entries(),
  'a buffer': Buffer.from('text'),
  'a function': numbers,
  'an emitter': new EventEmitter(),
  'an object without a prototype': Object.create(null) as unknown,
  'a Response without a body': new Response(null, { status: 204 }),
  'a file from a buffer': new StreamableFile(Buffer.from('text')),
  'a proxy of everything': everything,
};

describe.each(Object.entries(RUNNERS))('the result of work under %s', (name, run) => {
  const who = name.split(' ')[0] ?? '';

  it.each(Object.entries(LATE))('F72: %s is refused with a remedy', async (what, make) => {
    const locks = new FakeLockService();
    for (const work of [make, async () => make()]) {
      const error = await rejectionOf(run(locks, work));
      expect(error).toBeInstanceOf(LockOptionsError);
      expect((error as Error).message).toMatch(
        `${who}: the function returned ${what}, whose work would begin after the lock was released.`,
      );
      expect((error as Error).message).toMatch(/ (Collect|Await|Read) .* inside/);
    }
    expect(await locks.isLocked('k')).toBe(false);
  });

  it.each(Object.entries(READY))('F72: %s is returned', async (_, result) => {
    expect(await run(new FakeLockService(), () => result)).toBe(result);
  });

  it('F72: a stream that was read inside is returned', async () => {
    const stream = Readable.from(['a']);
    const read = async (): Promise<Readable> => {
      await stream.toArray();
      return stream;
    };
    expect(await run(new FakeLockService(), read)).toBe(stream);
    const response = new Response('text');
    const readText = async (): Promise<Response> => {
      await response.text();
      return response;
    };
    expect(await run(new FakeLockService(), readText)).toBe(response);
  });

  it('F72: a Subject is refused like every Observable', async () => {
    const subject: Observable<number> = new Subject();
    expect(await rejectionOf(run(new FakeLockService(), () => subject))).toBeInstanceOf(LockOptionsError);
  });

  it.each(['a query builder', 'a promise of a library'])('F72: %s begins inside the scope', async (kind) => {
    const requests = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const begins = (): string => {
      seen.push(currentLock('k').isHeld, requests.getStore());
      return 'row';
    };
    class LazyPromise extends Promise<string> {
      static override readonly [Symbol.species] = Promise;
      override then<A, B>(
        resolve?: ((value: string) => A | PromiseLike<A>) | null,
        reject?: ((error: unknown) => B | PromiseLike<B>) | null,
      ): Promise<A | B> {
        return Promise.resolve(begins()).then(resolve, reject);
      }
    }
    const query: PromiseLike<string> =
      kind === 'a query builder'
        ? { then: (resolve, reject) => Promise.resolve(begins()).then(resolve, reject) }
        : new LazyPromise(() => undefined);
    const locks = new FakeLockService();
    const result = await requests.run('request', () => run(locks, () => query));
    expect(result).toBe('row');
    expect(await requests.run('request', () => run(locks, async () => await query))).toBe('row');
    expect(seen).toEqual([true, 'request', true, 'request']);
    expect(await locks.isLocked('k')).toBe(false);
  });

  it('F72, B35: a lazy thenable that fails or throws rejects the call', async () => {
    const locks = new FakeLockService();
    const failing: PromiseLike<never> = {
      then: (_, reject) => Promise.reject(new Error('sql')).then(null, reject),
    };
    const throwing: PromiseLike<never> = {
      then: () => {
        throw new Error('broken');
      },
    };
    expect(await rejectionOf(run(locks, () => failing))).toEqual(new Error('sql'));
    expect(await rejectionOf(run(locks, () => throwing))).toEqual(new Error('broken'));
    expect(await locks.isLocked('k')).toBe(false);
  });
});
