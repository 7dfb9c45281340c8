import { Controller, Get, Injectable, Param, Scope } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockService, MemoryLockStore } from '../../../lib/index.js';
import { HttpApps } from './http-app.js';

/** A library of repositories, whose concrete classes inherit the locked methods. */
@Injectable()
abstract class Repository {
  constructor(protected readonly locks: LockService) {}

  protected abstract readonly table: string;

  @Locked({
    key(this: Repository, id: string) {
      return `${this.table}:${id}`;
    },
  })
  async save(id: string): Promise<string[]> {
    return Promise.resolve([`base ${id} ${this.locks.current()?.key}`]);
  }
}

@Injectable()
class Orders extends Repository {
  protected readonly table = 'orders';
}

@Injectable()
class AuditedOrders extends Orders {
  @Locked({ key: (id: string) => `audit:${id}` })
  override async save(id: string): Promise<string[]> {
    const outer = this.locks.current()?.key;
    return [`audited ${outer}`, ...(await super.save(id))];
  }

  @Locked({ key: (id: string) => `orders:${id}`, waitTime: 0 })
  async saveTwice(id: string): Promise<string[]> {
    // The same key as that of the inherited method.
    return super.save(id);
  }
}

@Injectable()
class UnlockedOrders extends Orders {
  override async save(id: string): Promise<string[]> {
    return [`plain ${this.locks.current()?.key}`, ...(await super.save(id))];
  }
}

@Controller()
class ThingsController {
  constructor(protected readonly locks: LockService) {}

  @Get(':id')
  @Locked({ key: (id: string) => `things:${id}`, waitTime: 0 })
  async show(@Param('id') id: string): Promise<string> {
    return Promise.resolve(`${id} ${this.locks.current(`things:${id}`)?.isHeld}`);
  }
}

@Controller('inherited')
class Inherited extends ThingsController {}

@Controller('overridden')
class Overridden extends ThingsController {
  @Get(':id')
  @Locked({ key: (id: string) => `things:${id}`, waitTime: 0 })
  override async show(@Param('id') id: string): Promise<string> {
    return `over ${await super.show(id)}`;
  }
}

@Controller('sibling')
class Sibling extends ThingsController {
  @Get('of/:id')
  @Locked({ key: (id: string) => `sibling:${id}`, waitTime: 0 })
  async calls(@Param('id') id: string): Promise<string> {
    return `${await this.show(id)} ${this.locks.current()?.key}`;
  }
}

@Controller({ path: 'scoped', scope: Scope.REQUEST })
class Scoped extends ThingsController {}

describe('inheritance and several applications', () => {
  const apps = new HttpApps();

  const imports = () => [DistributedLockModule.forRoot({ store: 'memory' })];

  it('B30: an inherited method is locked, with the instance of the subclass as this of the key function', async () => {
    const app = await apps.start({ imports: imports(), providers: [Orders] });
    expect(await app.nest.get(Orders).save('7')).toEqual(['base 7 orders:7']);
  });

  it('B30: an overriding method has its own lock, and its super call acquires the inherited one', async () => {
    const app = await apps.start({ imports: imports(), providers: [AuditedOrders, UnlockedOrders] });
    expect(await app.nest.get(AuditedOrders).save('7')).toEqual(['audited audit:7', 'base 7 orders:7']);
    expect(await app.nest.get(AuditedOrders).saveTwice('7')).toEqual(['base 7 orders:7']);
    expect(await app.nest.get(UnlockedOrders).save('7')).toEqual(['plain undefined', 'base 7 orders:7']);
    expect(await app.locks.isLocked('orders:7')).toBe(false);
  });

  it.each([
    ['inherited/7', '7 true'],
    ['overridden/7', 'over 7 true'],
    ['sibling/of/7', '7 true sibling:7'],
    ['scoped/7', '7 true'],
  ])('B30: handlers of inheriting controllers are locked: %s', async (path, text) => {
    const app = await apps.start({
      imports: imports(),
      controllers: [Inherited, Overridden, Sibling, Scoped],
    });
    const granted: string[] = [];
    app.locks.events.subscribe((event) => event.type === 'granted' && granted.push(event.key));
    expect((await app.get(`/${path}`)).text).toBe(text);
    expect(granted).toContain('things:7');
    for (const key of granted) expect(await app.locks.isLocked(key)).toBe(false);
  });

  it('B30: two applications in one process use their own locks, by the same classes', async () => {
    const stores = [new MemoryLockStore(), new MemoryLockStore()];
    const both = await Promise.all(
      stores.map((store) =>
        apps.start({
          imports: [DistributedLockModule.forRoot({ store })],
          controllers: [Inherited],
          providers: [Orders],
        }),
      ),
    );
    const [first, second] = [both[0]!, both[1]!];
    const holder = await first.locks.acquire('things:7');
    expect((await first.get('/inherited/7')).status).toBe(423);
    expect((await second.get('/inherited/7')).status).toBe(200);
    await holder.release();
    expect((await first.get('/inherited/7')).status).toBe(200);
    await second.close();
    expect((await first.get('/inherited/7')).status).toBe(200);
    expect(await first.nest.get(Orders).save('7')).toEqual(['base 7 orders:7']);
  });

  it('B51: a hold of one application is no hold of another application in the same call', async () => {
    const store = new MemoryLockStore();
    const start = () => apps.start({ imports: [DistributedLockModule.forRoot({ store })] });
    const [first, second] = [await start(), await start()];
    await first.locks.withLock('k', async () => {
      expect(second.locks.current('k')).toBeUndefined();
      expect(await second.locks.tryAcquire('k')).toBeNull();
    });
  });
});
