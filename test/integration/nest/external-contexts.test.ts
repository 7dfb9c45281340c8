import { Controller, Injectable, Module } from '@nestjs/common';
import { ExternalContextCreator, ModuleRef } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockService, LockTimeoutError } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';

/** The arguments that libraries for bots, queues and command lines pass to handlers. */
const CALLS: readonly (readonly unknown[])[] = [
  [],
  ['message'],
  ['message', null],
  ['message', undefined],
  ['message', 'context'],
  ['message', 7],
  ['message', {}],
  ['message', { raw: null }],
  ['message', { once: 1, stream: null, req: null }],
];

describe('F66: a handler that another library calls through ExternalContextCreator', () => {
  @Injectable()
  @Controller()
  class Commands {
    constructor(private readonly locks: LockService) {}

    @Locked({ key: 'k', waitTime: 0 })
    async run(): Promise<boolean> {
      return Promise.resolve(this.locks.current('k')?.isHeld === true);
    }
  }

  @Module({ imports: [DistributedLockModule.forRoot({ store: 'memory' })], providers: [Commands] })
  class AppModule {}

  let close: () => Promise<void>;
  let locks: LockService;
  let log: LogRecorder;
  let handlerOf: (type?: string) => (...args: unknown[]) => Promise<unknown>;

  beforeEach(async () => {
    log = new LogRecorder();
    const module = await Test.createTestingModule({ imports: [AppModule] })
      .setLogger(log)
      .compile();
    await module.init();
    close = () => module.close();
    locks = module.get(LockService);
    const commands = module.get(Commands);
    const creator = module.get(ModuleRef).get(ExternalContextCreator, { strict: false });
    handlerOf = (type) => {
      const rest = [undefined, undefined, undefined, undefined, undefined] as const;
      const { run } = commands;
      return (
        type === undefined
          ? creator.create(commands, run, 'run')
          : creator.create(commands, run, 'run', ...rest, type)
      ) as (...args: unknown[]) => Promise<unknown>;
    };
  });
  afterEach(() => close());

  it.each([undefined, 'necord', 'http'])(
    'holds its lock, whatever its arguments are (type %s)',
    async (type) => {
      const handler = handlerOf(type);
      for (const args of CALLS) {
        expect([args, await handler(...args)]).toEqual([args, true]);
        expect(await locks.isLocked('k')).toBe(false);
      }
    },
  );

  it.each([undefined, 'necord'])('fails with the error of a busy lock (type %s)', async (type) => {
    await using _held = await locks.acquire('k');
    const handler = handlerOf(type);
    for (const args of CALLS) await expect(handler(...args)).rejects.toBeInstanceOf(LockTimeoutError);
  });
});
