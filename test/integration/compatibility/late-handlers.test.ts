import type { AddressInfo, Server } from 'node:net';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { Controller } from '@nestjs/common';
import { GraphQLModule, GraphQLSchemaHost, Query, Resolver, Subscription } from '@nestjs/graphql';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { parse, subscribe } from 'graphql';
import { lastValueFrom } from 'rxjs';
import { DistributedLockModule, Locked, LockService } from '../../../lib/index.js';
import { LogRecorder } from '../../support/lock-app.js';
import { rejectionOf } from '../../support/until.js';
import { HttpApps } from '../nest/http-app.js';

let begun = 0;

async function* values(): AsyncGenerator<{ readonly changed: string }> {
  begun += 1;
  yield await Promise.resolve({ changed: 'a' });
}

@Resolver()
class Things {
  @Query(() => String)
  thing(): string {
    return 'thing';
  }

  @Subscription(() => String)
  @Locked('k')
  async changed(): Promise<unknown> {
    return Promise.resolve(values());
  }
}

@Controller()
class Messages {
  @MessagePattern('late')
  @Locked('k')
  async late(_: object): Promise<unknown> {
    return Promise.resolve(values());
  }
}

/** Only HTTP has a response that Nest sends from a stream. */
describe('a locked handler that returns an async iterable on another transport', () => {
  const apps = new HttpApps();
  const imports = [DistributedLockModule.forRoot({ store: 'memory' })];

  it('F72: a GraphQL subscription is refused', async () => {
    begun = 0;
    const app = await apps.start({
      imports: [
        ...imports,
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          graphiql: false,
        }),
      ],
      providers: [Things],
    });
    const { schema } = app.nest.get(GraphQLSchemaHost);
    const document = parse('subscription { changed }');
    const outcome: unknown = await subscribe({ schema, document, contextValue: {} });
    expect(outcome).toMatchObject({ errors: [{ extensions: { code: 'LOCK_OPTIONS' } }] });
    expect(
      app.log.matching('@Locked on Things.changed: the handler returned an async generator'),
    ).toHaveLength(1);
    expect(begun).toBe(0);
    expect(await app.locks.isLocked('k')).toBe(false);
  });

  it('F72: a message handler is refused', async () => {
    begun = 0;
    const module = await Test.createTestingModule({ imports, controllers: [Messages] })
      .setLogger(new LogRecorder())
      .compile();
    const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: 0 } } as const;
    const service = module.createNestMicroservice<MicroserviceOptions>(tcp);
    await service.listen();
    const { port } = service.unwrap<Server>().address() as AddressInfo;
    const client = ClientProxyFactory.create({ ...tcp, options: { host: '127.0.0.1', port } });
    expect(await rejectionOf(lastValueFrom(client.send<unknown>('late', {})))).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('the handler returned an async generator'),
    });
    expect(begun).toBe(0);
    expect(await module.get(LockService).isLocked('k')).toBe(false);
    client.close();
    await service.close();
  });
});
