import type { AddressInfo, Server } from 'node:net';
import { Controller, Injectable, Scope, type INestMicroservice, type ModuleMetadata } from '@nestjs/common';
import { EventEmitter2, EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import {
  ClientProxyFactory,
  EventPattern,
  MessagePattern,
  Transport,
  type ClientProxy,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { lastValueFrom, of, type Observable } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { until } from '../../support/until.js';
import { HttpApps } from '../nest/http-app.js';

const options = { key: 'stock:1', waitTime: 0 } as const;

@Controller()
class Events {
  constructor(private readonly locks: LockService) {}

  @EventPattern('above')
  @Locked(options)
  async above(_: object): Promise<void> {}

  @Locked(options)
  @EventPattern({ event: 'below' })
  async below(_: object): Promise<void> {}

  @EventPattern('stream')
  @Locked(options)
  stream(_: object): Observable<number> {
    return of(1);
  }

  @EventPattern('inside')
  async inside(_: object): Promise<void> {
    await this.locks.withLock('stock:1', { waitTime: 0 }, () => undefined);
  }

  @EventPattern('invalid')
  @Locked({ key: (_: object) => '' })
  async invalid(_: object): Promise<void> {}

  @EventPattern('skipped')
  @Locked({ ...options, onBusy: 'skip' })
  async skipped(_: object): Promise<void> {}

  @MessagePattern('message')
  @Locked(options)
  async message(_: object): Promise<void> {}
}

@Controller({ scope: Scope.REQUEST })
class ScopedEvents {
  @EventPattern('scoped')
  @Locked(options)
  async scoped(_: object): Promise<void> {}
}

@Injectable()
class Listeners {
  @OnEvent('emitted')
  @Locked(options)
  async emitted(): Promise<void> {}
}

const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;

const parts: ModuleMetadata = {
  imports: [DistributedLockModule.forRoot({ store: 'memory' }), EventEmitterModule.forRoot()],
  controllers: [Events, ScopedEvents],
  providers: [Listeners],
};

describe('an event whose locked handler is busy', () => {
  const apps = new HttpApps();
  const closing: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  const clientOf = (service: INestMicroservice): ClientProxy => {
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    const client = ClientProxyFactory.create({ ...tcp, options: { host: '127.0.0.1', port } });
    closing.unshift(() => client.close());
    return client;
  };

  /** Kinds of applications: those of the last kind apply no filter and no interceptor of the module to messages. */
  const starts = {
    microservice: async () => {
      const log = new LogRecorder();
      const module = await Test.createTestingModule(parts).setLogger(log).compile();
      const service = module.createNestMicroservice<MicroserviceOptions>({ ...tcp, logger: log });
      await service.listen();
      closing.push(() => service.close());
      return { client: clientOf(service), log, locks: module.get(LockService), nest: module };
    },
    'hybrid application that inherits': () => startHybrid(true),
    'hybrid application': () => startHybrid(false),
  };
  const startHybrid = async (inheritAppConfig: boolean) => {
    let service: INestMicroservice | undefined;
    const app = await apps.start(parts, (nest) => {
      service = nest.connectMicroservice<MicroserviceOptions>(tcp, { inheritAppConfig });
    });
    await app.nest.startAllMicroservices();
    if (service === undefined) throw new Error('not prepared');
    return { client: clientOf(service), log: app.log, locks: app.locks, nest: app.nest };
  };

  it.each(Object.entries(starts))(
    'F72: of a %s is logged once, with pattern and key',
    async (kind, start) => {
      const { client, log, locks } = await start();
      await using _holder = await locks.acquire('stock:1');
      const expected = [
        ['above', 'Events.above did not handle the event "above": '],
        [{ event: 'below' }, 'Events.below did not handle the event {"event":"below"}: '],
        ['stream', 'Events.stream did not handle the event "stream": '],
        ['scoped', 'ScopedEvents.scoped did not handle the event "scoped": '],
      ] as const;
      for (const [pattern, line] of expected) {
        await lastValueFrom(client.emit<unknown>(pattern, {}), { defaultValue: undefined });
        await until(`${line} is logged`, () => log.matching(line).length > 0);
        expect(log.matching(line)).toEqual([expect.stringContaining('The lock "stock:1" is held')]);
      }
      if (kind !== 'hybrid application') {
        await lastValueFrom(client.emit<unknown>('inside', {}), { defaultValue: undefined });
        await until('it is logged', () => log.matching('Events.inside did not handle').length === 1);
      }
      await lastValueFrom(client.emit<unknown>('invalid', {}), { defaultValue: undefined });
      await until('it is logged', () => log.matching('Events.invalid did not handle').length === 1);
      await lastValueFrom(client.emit<unknown>('skipped', {}), { defaultValue: undefined });
      await lastValueFrom(client.send<unknown>('message', {})).catch(() => undefined);
      expect(log.matching(/skipped|message did/)).toEqual([]);
      expect(log.matching('Events.above did not')).toHaveLength(1);
    },
  );

  it('F72: of an event listener is logged by Nest, with the key', async () => {
    const { log, locks, nest } = await starts.microservice();
    await using _holder = await locks.acquire('stock:1');
    nest.get(EventEmitter2).emit('emitted');
    await until('it is logged', () => log.matching('stock:1').length > 0);
    expect(log.matching('stock:1')).toHaveLength(1);
  });
});
