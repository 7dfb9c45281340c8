import { unwrapResolverError } from '@apollo/server/errors';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { NotFoundException } from '@nestjs/common';
import { Args, Field, GraphQLModule, Int, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisScene } from '../../faults/redis-scene.js';
import { HttpApp } from '../nest/http-app.js';
import { ordersOf, type HandlerName } from './orders.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import {
  BUSY,
  BUYERS,
  CROWDED,
  clientOf,
  expectOrderlySale,
  pipelineRules,
  type Client,
} from './transport.rules.js';

@ObjectType('Receipt')
class ReceiptType implements Receipt {
  @Field()
  buyer!: string;

  @Field(() => Int)
  left!: number;

  @Field()
  locked!: boolean;

  @Field({ nullable: true })
  stamped?: boolean;
}

/** Fields of queries run at the same time, those of mutations one after the other. */
@Resolver()
class Offers {
  constructor(private readonly stock: Stock) {}

  @Query(() => ReceiptType)
  @Locked({ key: KEY, waitTime: 15_000 })
  async offer(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

const Orders = ordersOf({
  Handlers: Resolver(),
  Handler: (name) => Mutation(() => ReceiptType, { name }),
  Buyer: Args('buyer'),
  soldOut: new NotFoundException('sold out'),
});

interface Reply {
  readonly data: Readonly<Record<string, Receipt>> | null;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code?: string } }[];
}

const FIELDS = '{ buyer left locked stamped }';

describe('@Locked on GraphQL resolvers', () => {
  const scene = new RedisScene();
  /** Errors thrown by the resolvers, the newest last. */
  let thrown: unknown[];

  const startApp = async (): Promise<HttpApp> => {
    thrown = [];
    const app = await HttpApp.start({
      imports: [
        DistributedLockModule.forRoot({ redis: scene.url }),
        StockModule,
        GraphQLModule.forRoot<ApolloDriverConfig>({
          driver: ApolloDriver,
          autoSchemaFile: true,
          graphiql: false,
          includeStacktraceInErrorResponses: false,
          formatError: (formatted, error) => {
            thrown.push(unwrapResolverError(error));
            return formatted;
          },
        }),
      ],
      providers: [Orders, Offers],
    });
    // The first query loads and compiles so much code that a busy machine may miss the claim lease of a pushed grant.
    await ask(app, '{ __typename }');
    return app;
  };
  const ask = async (app: HttpApp, query: string): Promise<Reply> =>
    (await app.post('/graphql', { query })).body as Reply;

  const start = async (): Promise<Client<HandlerName>> => {
    const app = await startApp();
    /** The one field of a mutation, or its error. */
    const call = async (handler: HandlerName, buyer: string): Promise<unknown> => {
      const { data, errors } = await ask(app, `mutation { ${handler}(buyer: "${buyer}") ${FIELDS} }`);
      if (errors === undefined) return Object.values(data ?? {})[0];
      return errors.map(({ message, extensions }) => ({ message, code: extensions.code }));
    };
    return { ...clientOf(app), take: async (buyer) => (await call('take', buyer)) as Receipt, call };
  };

  pipelineRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true, stamped: null },
    // Clients receive a remedy; the application finds the key on the error.
    busy: [BUSY],
    crowded: [CROWDED],
    failed: [{ message: 'sold out', code: 'INTERNAL_SERVER_ERROR' }],
    decorated: { buyer: 'BOB', left: 9, locked: true, stamped: true },
    denied: [{ message: 'Forbidden resource', code: 'FORBIDDEN' }],
  });

  describe('of one request', () => {
    let app: HttpApp;
    beforeEach(async () => {
      app = await startApp();
    });
    afterEach(() => app.close());

    it('B51: ten fields of one query exclude each other', async () => {
      const fields = BUYERS.map((buyer, index) => `f${index}: offer(buyer: "${buyer}") ${FIELDS}`);
      const reply = ask(app, `{ ${fields.join(' ')} }`);
      await expectOrderlySale(
        clientOf(app),
        async (buyer) => (await reply).data![`f${BUYERS.indexOf(buyer)}`]!,
      );
    });

    it('B41: a busy field fails with the lock error itself', async () => {
      await app.locks.withLock(KEY, () => ask(app, `mutation { hurry(buyer: "ann") ${FIELDS} }`));
      expect(thrown).toEqual([expect.any(LockTimeoutError)]);
      expect(thrown[0]).toMatchObject({ code: 'LOCK_TIMEOUT', keys: [KEY] });
    });
  });
});
