import {
  Controller,
  Get,
  Inject,
  Injectable,
  Module,
  Scope,
  type OnModuleInit,
  type Provider,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { of, type Observable } from 'rxjs';
import {
  DistributedLockModule,
  getLockServiceToken,
  Locked,
  LockOptionsError,
  LockService,
} from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf } from '../../support/until.js';
import { HttpApps, type HttpApp } from './http-app.js';

const KEY = 'k';

class Stock {
  constructor(readonly label = '') {}

  @Locked({ key: KEY, waitTime: 0 })
  async take(): Promise<string> {
    return Promise.resolve(`taken ${this.label}`);
  }

  @Locked({ key: KEY, waitTime: 0, returns: 'observable' })
  watch(): Observable<string> {
    return of('seen');
  }
}

class SpecialStock extends Stock {
  @Locked({ key: 'special', waitTime: 0 })
  async special(): Promise<string> {
    return this.take();
  }
}

class BillingStock {
  @Locked({ key: KEY, waitTime: 0, instance: 'billing' })
  async bill(): Promise<string> {
    return Promise.resolve('billed');
  }
}

const locks = () => DistributedLockModule.forRoot({ store: 'memory' });

describe('@Locked on objects from a factory or useValue', () => {
  const apps = new HttpApps();

  const start = (...providers: Provider[]): Promise<HttpApp> => apps.start({ imports: [locks()], providers });
  const failureOf = async (...providers: Provider[]): Promise<Error> => {
    const module = await Test.createTestingModule({ imports: [locks()], providers })
      .setLogger(new LogRecorder())
      .compile();
    return (await rejectionOf(module.init())) as Error;
  };
  const expectLocked = async (app: HttpApp, stock: Stock): Promise<void> => {
    expect(await stock.take()).toContain('taken');
    await using _holder = await app.locks.acquire(KEY);
    await expect(stock.take()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });
  };

  it.each<[string, () => Provider]>([
    ['useFactory', () => ({ provide: 'STOCK', useFactory: () => new Stock() })],
    ['useValue', () => ({ provide: 'STOCK', useValue: new Stock() })],
    ['a frozen object', () => ({ provide: 'STOCK', useValue: Object.freeze(new Stock()) })],
    ['a proxy', () => ({ provide: 'STOCK', useFactory: () => new Proxy(new Stock(), {}) })],
    [
      'a proxy of a frozen object',
      () => ({ provide: 'STOCK', useValue: new Proxy(Object.freeze(new Stock()), {}) }),
    ],
  ])('works: %s', async (_, provider) => {
    const given = provider();
    const app = await start(given);
    await expectLocked(app, app.nest.get<Stock>((given as { provide: string }).provide));
  });

  it('works with an alias, with methods of a subclass and with streams', async () => {
    const app = await start(
      { provide: 'STOCK', useFactory: () => new SpecialStock() },
      { provide: 'ALIAS', useExisting: 'STOCK' },
    );
    const stock = app.nest.get<SpecialStock>('ALIAS');
    expect(await stock.special()).toBe('taken ');
    await new Promise((resolve) => stock.watch().subscribe(resolve));
    expect(JSON.stringify(stock)).toBe('{"label":""}');
    expect(Object.getOwnPropertySymbols(Object.assign({}, stock))).toEqual([]);
  });

  it('works for request-scoped and transient objects', async () => {
    const made: Stock[] = [];
    const make = (): Stock => {
      made.push(new Stock());
      return made.at(-1)!;
    };
    @Injectable()
    class Clerk {
      constructor(@Inject('TRANSIENT') readonly stock: Stock) {}
    }
    @Controller()
    class Things {
      constructor(
        @Inject('REQUEST') private readonly ofRequest: Stock,
        @Inject('ASYNC') private readonly later: Stock,
        private readonly clerk: Clerk,
      ) {}

      @Get()
      async take(): Promise<string[]> {
        return [await this.ofRequest.take(), await this.later.take(), await this.clerk.stock.take()];
      }
    }
    const app = await apps.start({
      imports: [locks()],
      controllers: [Things],
      providers: [
        Clerk,
        { provide: 'REQUEST', scope: Scope.REQUEST, useFactory: make },
        { provide: 'ASYNC', scope: Scope.REQUEST, useFactory: async () => Promise.resolve(make()) },
        { provide: 'TRANSIENT', scope: Scope.TRANSIENT, useFactory: make },
      ],
    });
    for (let call = 0; call < 2; call++) expect((await app.get('/')).body).toEqual(Array(3).fill('taken '));
    await expectLocked(app, await app.nest.resolve<Stock>('TRANSIENT'));
    expect(made).toHaveLength(6);
  });

  it('works in onModuleInit of other modules', async () => {
    @Injectable()
    class Eager implements OnModuleInit {
      outcome = '';
      constructor(@Inject('STOCK') private readonly stock: Stock) {}
      async onModuleInit(): Promise<void> {
        this.outcome = await this.stock.take();
      }
    }
    @Module({ providers: [Eager, { provide: 'STOCK', useFactory: () => new Stock() }] })
    class FeatureModule {}
    const app = await apps.start({ imports: [FeatureModule, locks()] });
    expect(app.nest.get(Eager, { strict: false }).outcome).toBe('taken ');
  });

  it('uses the instance that the method names, and the service with which a test overrides it', async () => {
    const app = await apps.start({
      imports: [locks(), DistributedLockModule.forRoot({ name: 'billing', store: 'memory' })],
      providers: [
        { provide: 'STOCK', useFactory: () => new BillingStock() },
        {
          provide: 'BILLING',
          useFactory: (service: LockService) => service,
          inject: [getLockServiceToken('billing')],
        },
      ],
    });
    const stock = app.nest.get<BillingStock>('STOCK');
    await using _plain = await app.locks.acquire(KEY);
    expect(await stock.bill()).toBe('billed');
    await using _billing = await app.nest.get<LockService>('BILLING').acquire(KEY);
    await expect(stock.bill()).rejects.toMatchObject({ code: 'LOCK_TIMEOUT' });

    const fake = { withLock: () => Promise.resolve('from the fake') };
    const module = await Test.createTestingModule({
      imports: [locks()],
      providers: [{ provide: 'STOCK', useFactory: () => new Stock() }],
    })
      .overrideProvider(LockService)
      .useValue(fake)
      .setLogger(new LogRecorder())
      .compile();
    await module.init();
    expect(await module.get<Stock>('STOCK').take()).toBe('from the fake');
    await module.close();
  });

  it('one object in two consecutive applications uses the locks of the current one', async () => {
    for (const shared of [new Stock(), Object.freeze(new Stock())]) {
      const first = await start({ provide: 'STOCK', useValue: shared });
      await expectLocked(first, shared);
      await first.close();
      await expectLocked(await start({ provide: 'STOCK', useValue: shared }), shared);
    }
  });

  it('without the instance that the method names the application does not start, with the reason', async () => {
    const error = await failureOf({ provide: 'STOCK', useFactory: () => new BillingStock() });
    expect(error).toBeInstanceOf(LockOptionsError);
    expect(error.message).toContain('@Locked on BillingStock.bill');
    expect(error.message).toContain('"STOCK"');
    expect(error.message).toContain("forRoot({ name: 'billing', … })");
  });

  it('a request-scoped object without its instance fails the request', async () => {
    @Controller()
    class Things {
      constructor(@Inject('STOCK') private readonly stock: BillingStock) {}
      @Get()
      async bill(): Promise<string> {
        return this.stock.bill();
      }
    }
    const app = await apps.start({
      imports: [locks()],
      controllers: [Things],
      providers: [{ provide: 'STOCK', scope: Scope.REQUEST, useFactory: () => new BillingStock() }],
    });
    expect((await app.get('/')).status).toBe(500);
    expect(app.log.matching("forRoot({ name: 'billing', … })").length).toBeGreaterThan(0);
  });

  it('an object from moduleRef.create() works, and one made with new fails with a remedy', async () => {
    const app = await start();
    const stock = await app.nest.get(ModuleRef).create(Stock);
    await expectLocked(app, stock);
    const error = await rejectionOf(new Stock().take());
    expect(error).toBeInstanceOf(LockOptionsError);
    expect((error as Error).message).toContain('this object has no LockService');
  });

  it('does not touch objects without locked methods, even proxies that throw', async () => {
    const angry = new Proxy(
      {},
      {
        getPrototypeOf: () => {
          throw new Error('do not look at me');
        },
      },
    );
    const app = await start(
      { provide: 'ANGRY', useFactory: () => angry },
      { provide: 'NULL', useValue: null },
      { provide: 'TEXT', useValue: 'text' },
      { provide: 'BARE', useValue: Object.create(null) as object },
      { provide: 'FUNCTION', useValue: () => 1 },
    );
    expect(await app.locks.withLock(KEY, (lock) => lock.isHeld)).toBe(true);
  });
});
