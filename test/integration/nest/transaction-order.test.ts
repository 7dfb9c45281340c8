import { Controller, Get, Injectable } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { HttpApps } from './http-app.js';

const KEY = 'account:1';

/** A transaction decorator: the method runs between begin and commit. */
function Transactional(): MethodDecorator {
  return (_target, _name, descriptor: PropertyDescriptor) => {
    const method = descriptor.value as (...args: unknown[]) => Promise<unknown>;
    descriptor.value = async function (this: { locks: LockService; commits: boolean[] }, ...args: unknown[]) {
      const result = await method.apply(this, args);
      // The commit. A caller that acquires the lock before it sees stale data.
      this.commits.push(await this.locks.isLocked(KEY));
      return result;
    };
  };
}

@Injectable()
class Accounts {
  readonly commits: boolean[] = [];
  constructor(readonly locks: LockService) {}

  @Locked(KEY)
  @Transactional()
  async above(): Promise<string> {
    return Promise.resolve('booked');
  }

  @Transactional()
  @Locked(KEY)
  async below(): Promise<string> {
    return Promise.resolve('booked');
  }
}

@Controller()
class AccountsController {
  readonly commits: boolean[] = [];
  constructor(readonly locks: LockService) {}

  @Get()
  @Locked(KEY)
  @Transactional()
  async above(): Promise<string> {
    return Promise.resolve('booked');
  }
}

describe('@Locked and a decorator that commits after the method', () => {
  const apps = new HttpApps();

  const start = () =>
    apps.start({
      imports: [DistributedLockModule.forRoot({ store: 'memory' })],
      providers: [Accounts],
      controllers: [AccountsController],
    });

  it.each(['above', 'below'] as const)(
    'the commit of a method is under its lock if @Locked is %s it',
    async (where) => {
      const accounts = (await start()).nest.get(Accounts);
      expect(await accounts[where]()).toBe('booked');
      expect(accounts.commits).toEqual([where === 'above']);
    },
  );

  it('the commit of a handler is under the lock above it', async () => {
    const app = await start();
    expect((await app.get('/')).text).toBe('booked');
    expect(app.nest.get(AccountsController).commits).toEqual([true]);
  });
});
