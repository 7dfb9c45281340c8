import { unwrapResolverError } from '@apollo/server/errors';
import { ApolloDriver, type ApolloDriverConfig } from '@nestjs/apollo';
import { NotFoundException } from '@nestjs/common';
import { Args, Field, GraphQLModule, Int, Mutation, ObjectType, Query, Resolver } from '@nestjs/graphql';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DistributedLockModule, Locked, LockTimeoutError } from '../../../lib/index.js';
import { RedisServer } from '../../support/redis-server.js';
import { HttpApp } from '../nest/http-app.js';
import { Around, Impatient } from './around.js';
import { KEY, Stock, StockModule, type Receipt } from './stock.js';
import { BUYERS, expectOrderlySale, pipelineRules, type PipelineClient } from './transport.rules.js';

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

@Resolver()
class Orders {
  constructor(private readonly stock: Stock) {}

  @Mutation(() => ReceiptType)
  @Locked({ key: KEY, waitTime: 15_000 })
  async take(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Query(() => ReceiptType)
  @Locked({ key: KEY, waitTime: 15_000 })
  async offer(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Mutation(() => ReceiptType)
  @Locked({ key: KEY, waitTime: 0 })
  async hurry(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Query(() => ReceiptType)
  @Locked(KEY)
  async fail(): Promise<never> {
    return Promise.reject(new NotFoundException('sold out'));
  }

  @Impatient()
  @Mutation(() => ReceiptType)
  @Locked({ key: KEY, waitTime: 15_000 })
  async impatient(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('clerk')
  @Mutation(() => ReceiptType)
  @Locked(KEY)
  async above(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @Mutation(() => ReceiptType)
  @Around('clerk')
  async below(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Around('guest')
  @Mutation(() => ReceiptType)
  @Locked(KEY)
  async deniedabove(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }

  @Locked(KEY)
  @Mutation(() => ReceiptType)
  @Around('guest')
  async deniedbelow(@Args('buyer') buyer: string): Promise<Receipt> {
    return this.stock.take(buyer);
  }
}

interface Reply {
  readonly data: Readonly<Record<string, Receipt>> | null;
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code?: string } }[];
}

const FIELDS = '{ buyer left locked stamped }';

describe('@Locked on GraphQL resolvers', () => {
  let server: RedisServer;
  /** Errors thrown by the resolvers, the newest last. */
  let thrown: unknown[];

  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  const startApp = async (): Promise<HttpApp> => {
    thrown = [];
    const app = await HttpApp.start({
      imports: [
        DistributedLockModule.forRoot({ redis: server.url }),
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
      providers: [Orders],
    });
    // The first query loads and compiles so much code that a busy machine may miss the claim lease of a pushed grant.
    await ask(app, '{ __typename }');
    return app;
  };
  const ask = async (app: HttpApp, query: string): Promise<Reply> =>
    (await app.post('/graphql', { query })).body as Reply;

  const start = async (): Promise<PipelineClient> => {
    const app = await startApp();
    /** The one field of a query or mutation, or its error. */
    const call = async (query: string): Promise<unknown> => {
      const { data, errors } = await ask(app, query);
      if (errors === undefined) return Object.values(data ?? {})[0];
      return errors.map(({ message, extensions }) => ({ message, code: extensions.code }));
    };
    return {
      locks: app.locks,
      admin: app.admin,
      stock: app.nest.get(Stock, { strict: false }),
      take: async (buyer) => (await call(`mutation { take(buyer: "${buyer}") ${FIELDS} }`)) as Receipt,
      hurry: (buyer) => call(`mutation { hurry(buyer: "${buyer}") ${FIELDS} }`),
      fail: () => call(`{ fail ${FIELDS} }`),
      decorated: (where, buyer) => call(`mutation { ${where}(buyer: "${buyer}") ${FIELDS} }`),
      denied: (where) => call(`mutation { denied${where}(buyer: "ann") ${FIELDS} }`),
      impatient: (buyer) => call(`mutation { impatient(buyer: "${buyer}") ${FIELDS} }`),
      close: () => app.close(),
    };
  };

  pipelineRules(start, {
    sold: { buyer: 'bob', left: 9, locked: true, stamped: null },
    // Clients receive a remedy; the application finds the key on the error.
    busy: [
      {
        message: 'The resource is in use by another request. Try again later.',
        code: 'LOCK_TIMEOUT',
      },
    ],
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
        { locks: app.locks, stock: app.nest.get(Stock, { strict: false }) },
        async (buyer) => {
          const receipt = (await reply).data?.[`f${BUYERS.indexOf(buyer)}`];
          if (receipt === undefined) throw new Error(`nothing for ${buyer}`);
          return receipt;
        },
      );
    });

    it('B41: a busy field fails with the lock error itself', async () => {
      await app.locks.withLock(KEY, () => ask(app, `mutation { hurry(buyer: "ann") ${FIELDS} }`));
      expect(thrown).toEqual([expect.any(LockTimeoutError)]);
      expect(thrown[0]).toMatchObject({ code: 'LOCK_TIMEOUT', keys: [KEY] });
    });
  });
});
