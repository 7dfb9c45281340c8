import { Controller, Get, Param } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { firstValueFrom, Observable, of, toArray } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { Gate } from './gate.js';
import { HttpApps, type HttpApp } from './http-app.js';

const both = (a: string, b: string): string[] => [`order:${b}`, `order:${a}`];
const KEYS = ['order:1', 'order:2'];

@Controller()
class Orders {
  readonly gate = new Gate();

  constructor(private readonly locks: LockService) {}

  /** Re-enters one of the keys, and both. */
  @Get('merge/:a/:b')
  @Locked({ key: both })
  async merge(@Param('a') a: string, @Param('b') b: string): Promise<readonly unknown[]> {
    await this.gate.pass();
    const inner = await this.locks.withLock(`order:${b}`, { waitTime: 0 }, ({ token }) => token);
    const again = await this.locks.withLock(both(b, a), { waitTime: 0 }, ({ keys }) => keys);
    const lock = this.locks.current();
    return [lock?.keys, lock?.tokens.get(`order:${b}`) === inner, again];
  }

  @Get('stream/:a/:b')
  @Locked({ key: both, waitTime: 0, onBusy: () => of('busy', 'instead') })
  stream(@Param('a') _a: string, @Param('b') _b: string): Observable<unknown> {
    return of(this.locks.current()?.keys);
  }

  @Get('skip/:a/:b')
  @Locked({ key: both, waitTime: 0, onBusy: 'skip' })
  async skip(@Param('a') _a: string, @Param('b') _b: string): Promise<string | undefined> {
    return Promise.resolve('done');
  }
}

describe('@Locked with several keys', () => {
  const apps = new HttpApps();
  const begin = async (): Promise<{ app: HttpApp; orders: Orders; heldKeys: () => readonly string[] }> => {
    const imports = [DistributedLockModule.forRoot({ store: 'memory' })];
    const app = await apps.start({ imports, controllers: [Orders] });
    const heldKeys = () => app.admin.held().map(({ key }) => key);
    return { app, orders: app.nest.get(Orders), heldKeys };
  };

  it.each<[string, (app: HttpApp, orders: Orders) => Promise<unknown>]>([
    ['a method', (_, orders) => orders.merge('1', '2')],
    ['a handler', async (app) => (await app.get('/merge/1/2')).body],
  ])('B12, B31: %s holds all of them, and re-enters each', async (_, call) => {
    const { app, orders, heldKeys } = await begin();
    const merged = call(app, orders);
    await orders.gate.reached;
    expect(heldKeys()).toEqual(KEYS);
    orders.gate.open();
    expect(await merged).toEqual([KEYS, true, KEYS]);
    expect(heldKeys()).toEqual([]);
  });

  it.each(KEYS)('B34, B36: onBusy applies when %s is busy, and the other is free then', async (busy) => {
    const { app, orders, heldKeys } = await begin();
    const holder = await app.locks.acquire(busy);
    expect(await orders.skip('1', '2')).toBeUndefined();
    expect(await app.get('/skip/1/2')).toMatchObject({ status: 200, text: '' });
    expect(await firstValueFrom(orders.stream('1', '2').pipe(toArray()))).toEqual(['busy', 'instead']);
    expect(heldKeys()).toEqual([busy]);
    await holder.release();
    expect(await orders.skip('1', '2')).toBe('done');
    expect(await firstValueFrom(orders.stream('1', '2'))).toEqual(KEYS);
    expect((await app.get('/stream/1/2')).body).toEqual(KEYS);
    expect(heldKeys()).toEqual([]);
  });
});
