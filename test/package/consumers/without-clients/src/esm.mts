import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import type { INestApplicationContext } from '@nestjs/common';
import {
  DistributedLockModule,
  LockOptionsError,
  LockService,
  type DistributedLockOptions,
} from 'nestjs-distributed-lock';
import 'nestjs-distributed-lock/dashboard';
import 'nestjs-distributed-lock/health';
import 'nestjs-distributed-lock/leader';
import 'nestjs-distributed-lock/store';
import 'nestjs-distributed-lock/testing';
import { etcdStore } from 'nestjs-distributed-lock/etcd';
import { postgresStore } from 'nestjs-distributed-lock/postgres';
import { redissonStore } from 'nestjs-distributed-lock/redisson';
import { zookeeperStore } from 'nestjs-distributed-lock/zookeeper';

/** An application without the client of any store. */
async function main(): Promise<void> {
  const attempts = {
    redis: () => start({ redis: 'redis://localhost' }),
    cluster: () => start({ redis: { nodes: ['redis://localhost'] } }),
    quorum: () => start({ quorum: ['redis://a', 'redis://b', 'redis://c'] }),
    postgres: async () => start({ store: postgresStore({ connection: 'postgres://localhost/shop' }) }),
    redisson: async () => start({ store: redissonStore({ redis: 'redis://localhost' }) }),
    etcd: async () => start({ store: etcdStore({ hosts: 'localhost' }) }),
  };
  const outcomes: Record<string, string> = {};
  for (const [name, attempt] of Object.entries(attempts)) outcomes[name] = await messageOf(attempt);
  outcomes['zookeeper'] = zookeeperStore({ hosts: 'localhost' }).name;

  const app = await start({ store: 'memory' });
  outcomes['locked'] = await app.get(LockService).withLock('key', ({ key }) => key);
  await app.close();
  console.log(JSON.stringify(outcomes));
}

function start(options: DistributedLockOptions): Promise<INestApplicationContext> {
  const root = DistributedLockModule.forRoot(options);
  return NestFactory.createApplicationContext(root, { logger: false, abortOnError: false });
}

async function messageOf(attempt: () => Promise<unknown>): Promise<string> {
  try {
    await attempt();
    return 'no error';
  } catch (error) {
    return error instanceof LockOptionsError ? error.message : String(error);
  }
}

void main();
