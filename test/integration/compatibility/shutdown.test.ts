import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { Controller, Get, Injectable, Param } from '@nestjs/common';
import {
  ClientProxyFactory,
  MessagePattern,
  Payload,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Interval, ScheduleModule } from '@nestjs/schedule';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockClosedError, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { rejectionOf, stateOf, until, within } from '../../support/until.js';
import { Gate } from '../nest/gate.js';
import { ADAPTERS, HttpApps } from '../nest/http-app.js';
import { KEY } from './stock.js';

describe('shutdown with requests, messages and jobs', () => {
  const apps = new HttpApps();
  const scene = new RedisScene();

  const locksOf = () => DistributedLockModule.forRoot({ redis: scene.url, shutdownTimeout: 10_000 });

  describe.each(Object.entries(ADAPTERS))('requests to %s', (_, adapterOf) => {
    let work = new Gate();

    @Controller()
    class Web {
      constructor(private readonly locks: LockService) {}

      @Get('decorated/:name')
      @Locked({ key: (name: string) => name })
      async decorated(@Param('name') name: string): Promise<string> {
        await work.pass();
        // Acquired after shutdown has begun.
        return this.locks.withLock('inner', () => `${name} done`);
      }
    }

    it('B60: those that hold a lock or wait for one are answered, also over keep-alive connections', async () => {
      work = new Gate();
      const app = await apps.start({ imports: [locksOf()], controllers: [Web] }, undefined, adapterOf());
      const agent = new Agent({ keepAlive: true });
      const ask = async (path: string): Promise<string> => {
        const [response] = (await once(get(app.url(path), { agent }), 'response')) as [IncomingMessage];
        const chunks: Buffer[] = [];
        for await (const chunk of response) chunks.push(chunk as Buffer);
        return `${response.statusCode} ${Buffer.concat(chunks).toString()}`;
      };
      try {
        const running = ask('/decorated/k');
        await within(10_000, 'the first', work.reached);
        const queued = app.next('queued', 'k');
        const waiting = ask('/decorated/k');
        await queued;
        const closed = app.close();
        expect(await stateOf(closed)).toBe('pending');
        work.open();
        expect(await running).toBe('200 k done');
        expect(await waiting).toBe('200 k done');
        // Fastify waits until clients close their connections.
        agent.destroy();
        await within(10_000, 'the end', closed);
        expect(await rejectionOf(app.locks.acquire('k'))).toBeInstanceOf(LockClosedError);
      } finally {
        agent.destroy();
      }
    });
  });

  it('B60: messages over TCP that wait for their lock are handled, although Nest does not wait for them', async () => {
    const work = new Gate();
    const handled: string[] = [];
    @Controller()
    class Orders {
      constructor(private readonly locks: LockService) {}

      @MessagePattern('take')
      @Locked(KEY)
      async take(@Payload() buyer: string): Promise<string> {
        await work.pass();
        return this.locks.withLock('receipt', () => {
          handled.push(buyer);
          return buyer;
        });
      }
    }
    const log = new LogRecorder();
    const module = await Test.createTestingModule({ imports: [locksOf()], controllers: [Orders] })
      .setLogger(log)
      .compile();
    const service = module.createNestMicroservice<MicroserviceOptions>({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port: 0 },
    });
    await service.listen();
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    const client = ClientProxyFactory.create({
      transport: Transport.TCP,
      options: { host: '127.0.0.1', port },
    });
    const locks = module.get(LockService);
    let queued = 0;
    locks.events.subscribe(({ type }) => (queued += type === 'queued' ? 1 : 0));
    const buyers = ['ann', 'bob', 'cid'];
    // Nest 12 closes the connections, so callers receive no reply.
    for (const buyer of buyers) client.send('take', buyer).subscribe({ error: () => undefined });
    await until('two wait', () => queued === buyers.length - 1);
    const closed = service.close();
    work.open();
    await within(10_000, 'the end', closed);
    client.close();
    expect(handled.sort()).toEqual(buyers);
    expect(log.matching('can no longer be acquired')).toEqual([]);
  });

  it('B60: scheduled jobs that run or wait for their lock end normally', async () => {
    const work = new Gate();
    const done: string[] = [];
    @Injectable()
    class Jobs {
      constructor(private readonly locks: LockService) {}

      @Interval(5)
      @Locked(KEY)
      async report(): Promise<void> {
        await work.pass();
        await this.locks.withLock('mail', () => done.push('report'));
      }
    }
    const app = await apps.start({ imports: [locksOf(), ScheduleModule.forRoot()], providers: [Jobs] });
    await within(10_000, 'the first', work.reached);
    let queued = 0;
    app.locks.events.subscribe(({ type, ...event }) => {
      if (type === 'queued' && 'key' in event && event.key === KEY) queued += 1;
    });
    await until('other runs wait', () => queued >= 3);
    const closed = app.close();
    work.open();
    await within(10_000, 'the end', closed);
    expect(done.length).toBeGreaterThanOrEqual(4);
    expect(app.log.matching('can no longer be acquired')).toEqual([]);
  });
});
