import { AsyncResource } from 'node:async_hooks';
import async from 'async';
import Bottleneck from 'bottleneck';
import { bulkhead } from 'cockatiel';
import fastq from 'fastq';
import PQueue from 'p-queue';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import {
  DistributedLockModule,
  Locked,
  LockService,
  LockTimeoutError,
  type DistributedLockOptions,
  type LockOptions,
} from '../../../lib/index.js';
import { resolveModuleOptions } from '../../../lib/nest/module/distributed-lock.options.js';
import { LockApp } from '../../support/lock-app.js';
import { elapse, rejectionOf } from '../../support/until.js';
import { Gate } from '../nest/gate.js';

type Task = () => Promise<unknown>;

/** Adds a task to a queue that runs one at a time; resolves when the task has ended. */
type Add = (task: Task) => Promise<unknown>;

/** Queues that start the next task in the asynchronous context of the one before. */
const QUEUES: Readonly<Record<string, () => Add>> = {
  'p-queue': () => {
    const queue = new PQueue({ concurrency: 1 });
    return (task) => queue.add(task);
  },
  bottleneck: () => {
    const limiter = new Bottleneck({ maxConcurrent: 1 });
    return (task) => limiter.schedule(task);
  },
  fastq: () => {
    const queue = fastq.promise((task: Task) => task(), 1);
    return (task) => queue.push(task);
  },
  'async.queue': () => {
    const queue = async.queue((task: Task, done) => {
      task().then(() => done(), done);
    }, 1);
    return (task) => queue.pushAsync(task);
  },
  'the bulkhead of cockatiel': () => {
    const policy = bulkhead(1, 10);
    return (task) => policy.execute(task);
  },
};

describe.each(Object.entries(QUEUES))('%s', (_, create) => {
  let app: LockApp;
  let balance: number;
  /** Whether the second request ran in the asynchronous context of the first. */
  let wasInside: boolean | undefined;

  beforeEach(async () => {
    app = await LockApp.start({ store: 'memory' });
    balance = 100;
  });
  afterEach(() => app.close());

  /** Two requests; the first awaits the queue inside its lock, until the task of the second has begun. */
  async function twoWithdrawals(options: LockOptions, bind: (task: Task) => Task): Promise<void> {
    const add = create();
    const [isQueued, hasBegun] = [new Gate(), new Gate()];
    const first = app.locks.withLock('account', async () => {
      const seen = balance;
      await add(() => isQueued.pass());
      await hasBegun.pass();
      await elapse(5);
      balance = seen - 30;
    });
    await isQueued.reached;
    const second = add(
      bind(async () => {
        wasInside = app.locks.current('account') !== undefined;
        hasBegun.open();
        await app.locks.withLock('account', options, async () => {
          const seen = balance;
          await elapse(20);
          balance = seen - 50;
        });
      }),
    );
    // Timers fire in order, and bottleneck sets one before it queues a task.
    for (let turn = 0; turn < 3; turn += 1) await elapse(1);
    isQueued.open();
    await Promise.all([first, second]);
  }

  const unbound = (task: Task): Task => task;

  it('the trap: the second request re-enters the lock of the first, and a withdrawal is lost', async () => {
    await twoWithdrawals({}, unbound);
    expect(wasInside).toBe(true);
    expect(balance).not.toBe(20);
  });

  it('B53: loses no withdrawal with reentrant: false', async () => {
    await twoWithdrawals({ reentrant: false }, unbound);
    expect({ wasInside, balance }).toEqual({ wasInside: true, balance: 20 });
  });

  it('B53: loses no withdrawal with AsyncResource.bind', async () => {
    await twoWithdrawals({}, (task) => AsyncResource.bind(task));
    expect({ wasInside, balance }).toEqual({ wasInside: false, balance: 20 });
  });
});

describe('reentrant: false', () => {
  it('B53: of a module applies to calls and methods without their own', async () => {
    @Injectable()
    class Accounts {
      @Locked({ key: 'account', waitTime: 0 })
      async inherited(): Promise<string> {
        return Promise.resolve('re-entered');
      }

      @Locked({ key: 'account', waitTime: 0, reentrant: true })
      async own(): Promise<string> {
        return Promise.resolve('re-entered');
      }
    }
    const module = await Test.createTestingModule({
      imports: [DistributedLockModule.forRoot({ store: 'memory', reentrant: false })],
      providers: [Accounts],
    }).compile();
    await module.init();
    const [locks, accounts] = [module.get(LockService), module.get(Accounts)];
    await locks.withLock('account', async () => {
      expect(await locks.tryAcquire('account')).toBeNull();
      expect(await rejectionOf(accounts.inherited())).toBeInstanceOf(LockTimeoutError);
      expect(await accounts.own()).toBe('re-entered');
    });
    await module.close();
  });

  it('B1: must be a boolean', () => {
    const wrong = { store: 'memory', reentrant: 'no' } as unknown as DistributedLockOptions;
    expect(() => resolveModuleOptions(wrong)).toThrow('reentrant must be true or false');
  });
});
