import {
  Global,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type INestApplicationContext,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import {
  DistributedLockModule,
  Locked,
  LockClosedError,
  LockLostError,
  LockService,
} from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisServer } from '../../support/redis-server.js';
import { rejectionOf, until, within } from '../../support/until.js';
import { Gate } from './gate.js';

const memory = (
  extras: { isGlobal?: boolean; name?: string; shutdownTimeout?: number } = {},
): DynamicModule => DistributedLockModule.forRoot({ store: 'memory', ...extras });

const standalone = (root: Type | DynamicModule): Promise<INestApplicationContext> =>
  NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });

/** A module that imports these. */
function moduleOf(...imports: (DynamicModule | Type)[]): Type {
  @Module({ imports })
  class Imports {}
  return Imports;
}

describe('shutdown hooks', () => {
  describe('B60: those of every provider can acquire locks', () => {
    /** A module whose provider acquires a lock in each hook. Modules of one test share the list. */
    const userOf = (name: string, done: string[], parts: DynamicModule[] = [], isGlobal = false): Type => {
      @Injectable()
      class User implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
        constructor(private readonly locks: LockService) {}

        onModuleDestroy(): Promise<void> {
          return this.work('onModuleDestroy');
        }

        beforeApplicationShutdown(): Promise<void> {
          return this.work('beforeApplicationShutdown');
        }

        onApplicationShutdown(): Promise<void> {
          return this.work('onApplicationShutdown');
        }

        private async work(hook: string): Promise<void> {
          await this.locks.withLock('k', () => new Promise((resolve) => setImmediate(resolve)));
          done.push(`${name} ${hook}`);
        }
      }
      @Module({ imports: parts, providers: [User] })
      class UserModule {}
      if (isGlobal) Global()(UserModule);
      return UserModule;
    };

    const HOOKS = ['onModuleDestroy', 'beforeApplicationShutdown', 'onApplicationShutdown'];
    const everyHookOf = (...names: string[]): string[] =>
      names.flatMap((name) => HOOKS.map((hook) => `${name} ${hook}`)).sort();

    const trees: Record<string, (done: string[]) => { root: Type; users: string[] }> = {
      'among global modules, imported first': (done) => ({
        root: moduleOf(memory(), userOf('global', done, [], true), userOf('local', done)),
        users: ['global', 'local'],
      }),
      'among global modules, imported last': (done) => ({
        root: moduleOf(userOf('global', done, [], true), userOf('local', done), memory()),
        users: ['global', 'local'],
      }),
      'by forRootAsync': (done) => {
        const useFactory = () => Promise.resolve({ store: 'memory' as const });
        const locks = DistributedLockModule.forRootAsync({ useFactory });
        return { root: moduleOf(userOf('global', done, [], true), locks), users: ['global'] };
      },
      'with isGlobal: false, deep in the tree': (done) => {
        const locks = [memory({ isGlobal: false })];
        const middle = moduleOf(moduleOf(userOf('deep', done, locks)));
        const root = moduleOf(middle, userOf('global', done, locks, true), userOf('top', done, locks));
        return { root, users: ['deep', 'global', 'top'] };
      },
      'beside another instance': (done) => ({
        root: moduleOf(memory({ name: 'billing' }), userOf('global', done, [], true), memory()),
        users: ['global'],
      }),
    };

    const hosts: Record<string, (root: Type) => Promise<INestApplicationContext>> = {
      'a testing module': async (root) => {
        const builder = Test.createTestingModule({ imports: [root] }).setLogger(new LogRecorder());
        return (await builder.compile()).init();
      },
      'an HTTP application': async (root) => {
        const app = await NestFactory.create(root, { logger: false, abortOnError: false });
        await app.listen(0, '127.0.0.1');
        return app;
      },
      'a microservice': async (root) => {
        const app = await NestFactory.createMicroservice<MicroserviceOptions>(root, {
          transport: Transport.TCP,
          options: { host: '127.0.0.1', port: 0 },
          logger: false,
          abortOnError: false,
        });
        await app.listen();
        return app;
      },
    };

    describe.each(Object.keys(hosts))('of %s', (host) => {
      it.each(Object.keys(trees))('with the module %s', async (tree) => {
        const done: string[] = [];
        const { root, users } = trees[tree]!(done);
        const app = await hosts[host]!(root);
        const locks = app.get(LockService, { strict: false });
        await within(10_000, 'the end', app.close());
        expect(done.sort()).toEqual(everyHookOf(...users));
        expect(await rejectionOf(locks.acquire('k'))).toBeInstanceOf(LockClosedError);
      });
    });
  });

  /** Its hooks of the first two steps hold a lock for longer than `shutdownTimeout`, as a grace period of terminus does. */
  const servesOn = (seen: string[], inLastStep: (locks: LockService) => Promise<void>): Type => {
    @Module({ imports: [memory({ shutdownTimeout: 50 })] })
    class Root implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
      constructor(private readonly locks: LockService) {}

      async onModuleDestroy(): Promise<void> {
        await this.serve('destroy');
      }

      async beforeApplicationShutdown(): Promise<void> {
        await this.serve('before');
      }

      async onApplicationShutdown(): Promise<void> {
        await inLastStep(this.locks);
      }

      private async serve(step: string): Promise<void> {
        const lock = await this.locks.acquire('k');
        // Calls without a limit are refused after the same time, which shows that it has passed.
        const other = await this.locks.acquire('other');
        const error = await rejectionOf(this.locks.acquire('other', { waitTime: Infinity }));
        expect(error).toBeInstanceOf(LockClosedError);
        await other.release();
        expect(lock.signal.aborted).toBe(false);
        seen.push(`${step}: ${await lock.release()}`);
      }
    }
    return Root;
  };

  it('B60: shutdownTimeout counts from when Nest stops what serves requests, not from the beginning of shutdown', async () => {
    const seen: string[] = [];
    const root = servesOn(seen, async (locks) => {
      const lock = await locks.acquire('k');
      await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
      expect(lock.signal.reason).toBeInstanceOf(LockLostError);
      seen.push('lost');
      // An infinite wait would keep the application from closing.
      const error = await rejectionOf(locks.acquire('k', { waitTime: Infinity }));
      expect(error).toBeInstanceOf(LockClosedError);
      // Free locks are granted until everything has stopped.
      await locks.withLock('another', { waitTime: Infinity }, () => seen.push('granted'));
    });
    const app = await standalone(root);
    await within(5_000, 'the end', app.close());
    expect(seen).toEqual(['destroy: released', 'before: released', 'lost', 'granted']);
  });

  it('B60: a lock that was lost at the end of shutdownTimeout is released when its work ends', async () => {
    const root = servesOn([], async (locks) => {
      const work = new Gate();
      const reader = await locks.acquire('shares', { mode: 'shared' });
      const second = locks.withLock('shares', { mode: 'shared' }, () => work.pass());
      const outer = locks.withLock('k', async (lock) => {
        const inner = locks.withLock('k', () => work.pass());
        await work.reached;
        await new Promise((resolve) => lock.signal.addEventListener('abort', resolve));
        void inner;
      });
      await outer;
      const once = { waitTime: 0 };
      expect(await locks.tryAcquire('k', once)).toBeNull();
      expect(await reader.release()).toBe('expired');
      expect(await locks.tryAcquire('shares', once)).toBeNull();
      work.open();
      await second;
      for (const key of ['k', 'shares']) await (await locks.acquire(key)).release();
    });
    const app = await standalone(root);
    await within(5_000, 'the end', app.close());
  });

  it('B60: an infinite wait ends when shutdownTimeout ends', async () => {
    const rival = new Gate();
    const seen: unknown[] = [];
    @Module({ imports: [memory({ shutdownTimeout: 50 })] })
    class Root implements OnModuleDestroy {
      constructor(private readonly locks: LockService) {}

      async onModuleDestroy(): Promise<void> {
        const shared = this.locks.withLock('shares', { mode: 'shared' }, () => rival.pass());
        await rival.reached;
        const endless = { waitTime: Infinity };
        const waits = [
          this.locks.acquire('shares', endless),
          this.locks.acquire('shares', { ...endless, mode: 'shared' }).then((lock) => lock.release()),
          this.locks.acquire('shares', { ...endless, retry: { maxAttempts: 1_000_000 } }),
        ];
        for (const wait of await Promise.allSettled(waits)) {
          if (wait.status === 'rejected') seen.push(wait.reason);
        }
        rival.open();
        await shared;
      }
    }
    const app = await standalone(Root);
    await within(5_000, 'the end', app.close());
    expect(seen).toHaveLength(3);
    for (const error of seen) expect(error).toBeInstanceOf(LockClosedError);
  });

  it('B60: a call of @Locked with an infinite wait is rejected when everything else has stopped', async () => {
    @Injectable()
    class Leader {
      @Locked({ key: 'leader', waitTime: Infinity })
      async lead(): Promise<void> {}
    }
    @Module({ imports: [memory({ shutdownTimeout: 60_000 })], providers: [Leader] })
    class Root {}
    const app = await standalone(Root);
    const other = await app.get(LockService).acquire('leader');
    const standby = rejectionOf(app.get(Leader).lead());
    const closed = app.close();
    expect(await within(5_000, 'the refusal', standby)).toBeInstanceOf(LockClosedError);
    await other.release();
    await within(5_000, 'the end', closed);
  });

  it('B60: after a second the log names the locks that shutdown waits for', async () => {
    const log = new LogRecorder();
    const module = await Test.createTestingModule({ imports: [memory()] })
      .setLogger(log)
      .compile();
    await module.init();
    const locks = module.get(LockService);
    const held = [await locks.acquire('reports', { label: 'nightly run' }), await locks.acquire('invoices')];
    const since = held.map(({ acquiredAt }) => new Date(acquiredAt).toISOString());
    const closed = module.close();
    await until('it is logged', () => log.matching('Shutdown waits').length > 0);
    expect(log.matching('Shutdown waits')).toEqual([
      expect.stringMatching(
        `^Shutdown waits for locks that are in use: "reports" \\(nightly run, since ${since[0]}\\), ` +
          `"invoices" \\(since ${since[1]}\\)\\. It waits at most another \\d\\.\\d s\\.$`,
      ),
    ]);
    for (const lock of held) await lock.release();
    await within(5_000, 'the end', closed);
  });

  it('B60: callers that wait are named once for each key, and not as locks in use', async () => {
    const log = new LogRecorder();
    let waiting: Promise<void>[] = [];
    const worker = { onApplicationShutdown: () => Promise.all(waiting) };
    const module = await Test.createTestingModule({
      imports: [memory()],
      providers: [{ provide: 'worker', useValue: worker }],
    })
      .setLogger(log)
      .compile();
    await module.init();
    const locks = module.get(LockService);
    const held = await locks.acquire('reports');
    waiting = Array.from({ length: 3 }, () => locks.withLock('reports', () => undefined));
    const closed = module.close();
    await until('it is logged', () => log.matching('Shutdown waits').length > 0);
    expect(log.matching('Shutdown waits')).toEqual([
      expect.stringMatching(
        /^Shutdown waits for locks that are in use: "reports" \(since [^)]*\), and for callers that wait for locks: "reports" \(3 callers, since [^)]*\)\. /,
      ),
    ]);
    await held.release();
    await Promise.all(waiting);
    await within(5_000, 'the end', closed);
  });

  describe('an application whose start fails', () => {
    const failing = (hook: 'onModuleInit' | 'onApplicationBootstrap', parts: DynamicModule[]): Type => {
      @Injectable()
      class Fails {
        [hook](): void {
          throw new Error('no start');
        }
      }
      @Module({ imports: parts, providers: [Fails] })
      class Root {}
      return Root;
    };

    it.each(['onModuleInit', 'onApplicationBootstrap'] as const)(
      'F51: leaves no connection open, by %s',
      async (hook) => {
        const server = await RedisServer.start();
        try {
          const witness = server.client();
          const connections = async (): Promise<string | undefined> =>
            /total_connections_received:(\d+)/.exec(await witness.info('stats'))?.[1];
          const before = await connections();
          expect(before).toBeDefined();
          const locks = DistributedLockModule.forRoot({ redis: server.url });
          const starting = standalone(failing(hook, [locks]));
          expect(String(await rejectionOf(starting))).toContain('no start');
          expect(await connections()).toBe(before);
        } finally {
          await server.close();
        }
      },
    );

    it('F51: leaves nothing open when it is closed, although a hook acquired a lock', async () => {
      @Global()
      @Module({})
      class Takes {
        constructor(private readonly locks: LockService) {}

        async onModuleInit(): Promise<void> {
          await (await this.locks.acquire('k')).release();
        }
      }
      const root = failing('onApplicationBootstrap', [memory(), { module: Takes }]);
      const app = await NestFactory.create(root, { logger: false, abortOnError: false });
      const locks = app.get(LockService, { strict: false });
      expect(String(await rejectionOf(app.init()))).toContain('no start');
      await within(5_000, 'the end', app.close());
      expect(await rejectionOf(locks.acquire('k'))).toBeInstanceOf(LockClosedError);
    });
  });
});
