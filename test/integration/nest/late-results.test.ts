import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { of } from 'rxjs';
import {
  currentLock,
  DistributedLockModule,
  Locked,
  LockOptionsError,
  LockService,
} from '../../../lib/index.js';
import { FakeLockService } from '../../../lib/testing/index.js';
import { rejectionOf } from '../../support/until.js';

async function* numbers(): AsyncGenerator<number> {
  yield 1;
}

class Rows {
  @Locked('k')
  async of(make: () => unknown): Promise<unknown> {
    return Promise.resolve(make());
  }

  @Locked({ key: 'busy', waitTime: 0, onBusy: () => numbers() })
  async instead(): Promise<unknown> {
    return Promise.resolve(1);
  }

  @Locked('k')
  async array(): Promise<number[]> {
    const values: number[] = [];
    for await (const value of numbers()) values.push(value);
    return values;
  }

  async *generated(): AsyncGenerator<number> {
    yield 1;
  }

  *counted(): Generator<number> {
    yield 1;
  }

  /** As untyped code writes it: the method returns a lazy query. */
  @Locked('k')
  query(): Promise<string> {
    const lazy: PromiseLike<string> = {
      then: (resolve, reject) => Promise.resolve(String(currentLock('k').isHeld)).then(resolve, reject),
    };
    return lazy as Promise<string>;
  }
}

// Untyped code decorates generators.
for (const name of ['generated', 'counted'] as const) {
  const descriptor = Object.getOwnPropertyDescriptor(Rows.prototype, name) ?? {};
  (Locked('k') as unknown as MethodDecorator)(Rows.prototype, name, descriptor);
  Object.defineProperty(Rows.prototype, name, descriptor);
}

describe.each(['the module', 'a FakeLockService'])(
  'the result of a locked method of a service, with %s',
  (kind) => {
    let module: TestingModule;
    let rows: Rows;
    let locks: LockService;
    beforeAll(async () => {
      module = await Test.createTestingModule(
        kind === 'the module'
          ? { imports: [DistributedLockModule.forRoot({ store: 'memory' })], providers: [Rows] }
          : { providers: [Rows, { provide: LockService, useValue: new FakeLockService() }] },
      ).compile();
      rows = module.get(Rows);
      locks = module.get(LockService);
    });
    afterAll(() => module.close());

    it.each<[string, () => unknown, RegExp]>([
      ['an async generator', numbers, /Collect its values inside, and return them\./],
      ['a Readable', () => Readable.from([1]), /Collect/],
      ['a ReadableStream', () => new ReadableStream(), /Collect/],
      ['a Response whose body has not been read', () => new Response('text'), /await response\.json\(\)/],
      [
        'a StreamableFile',
        () => new StreamableFile(Readable.from(['a'])),
        /from a request handler under @Locked/,
      ],
    ])('F72: %s is refused with the name of the method and a remedy', async (what, make, remedy) => {
      const error = await rejectionOf(rows.of(make));
      expect(error).toBeInstanceOf(LockOptionsError);
      expect((error as Error).message).toContain(
        `@Locked on Rows.of: the method returned ${what}, whose work`,
      );
      expect((error as Error).message).toMatch(remedy);
      expect(await locks.isLocked('k')).toBe(false);
    });

    it('F72, B34: an Observable is refused with the remedy of its kind', async () => {
      expect(await rejectionOf(rows.of(() => of(1)))).toMatchObject({
        message: expect.stringContaining("returns: 'observable'"),
      });
    });

    it('F72, B36: a late result of onBusy is refused', async () => {
      await using _holder = await locks.acquire('busy');
      expect(await rejectionOf(rows.instead())).toMatchObject({
        message: expect.stringContaining('@Locked on Rows.instead: onBusy returned an async generator'),
      });
    });

    it.each(['generated', 'counted'] as const)(
      'F72: a generator of untyped code fails where it is called, since its caller awaits no promise (%s)',
      (name) => {
        expect(() => rows[name]()).toThrow(LockOptionsError);
        expect(() => rows[name]()).toThrow(
          `@Locked on Rows.${name}: only request handlers may be generators`,
        );
      },
    );

    it('F72: collected values are returned, and a lazy query begins in the scope of the lock', async () => {
      expect(await rows.array()).toEqual([1]);
      expect(await rows.query()).toBe('true');
    });
  },
);
