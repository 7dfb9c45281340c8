// An application with Mercurius, which depends on modules that Jest can't load on every supported version of Node.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { GraphQLModule, Mutation, Query, Resolver } from '@nestjs/graphql';
import { MercuriusDriver } from '@nestjs/mercurius';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { DistributedLockModule, Locked, LockService } from '../../../dist/esm/index.js';

const KEY = 'customer:ann@example.com';

class Things {
  async locked() {
    return 'served';
  }

  async change() {
    return 'changed';
  }

  async broken() {
    throw new Error('broken');
  }
}
/** As the compiler emits decorators. */
const decorate = (name, ...decorators) => {
  const descriptor = Object.getOwnPropertyDescriptor(Things.prototype, name);
  for (const decorator of decorators.reverse()) decorator(Things.prototype, name, descriptor);
  Object.defineProperty(Things.prototype, name, descriptor);
};
decorate(
  'locked',
  Query(() => String),
  Locked({ key: KEY, waitTime: 0 }),
);
decorate(
  'change',
  Mutation(() => String),
  Locked({ key: KEY, waitTime: 0 }),
);
decorate(
  'broken',
  Query(() => String),
);
Resolver()(Things);

class AppModule {}
Module({
  imports: [
    DistributedLockModule.forRoot({ store: 'memory', ...(process.argv[2] === 'off' && { http: false }) }),
    GraphQLModule.forRoot({ driver: MercuriusDriver, autoSchemaFile: true, graphiql: false }),
  ],
  providers: [Things],
})(AppModule);

const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
await app.get(LockService).acquire(KEY);
process.stdout.write(`${await app.getUrl()}\n`);
