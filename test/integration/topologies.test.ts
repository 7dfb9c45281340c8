import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { keySlot } from '../../lib/stores/redis/scripts/key-names.js';
import { RedisCluster } from '../support/redis-cluster.js';
import { RedisServer } from '../support/redis-server.js';
import { SentinelGroup } from '../support/sentinel-group.js';
import { ServerFleet } from '../support/server-fleet.js';
import { rejectionOf, until } from '../support/until.js';
import { WorkerProcess } from '../support/worker-process.js';

/** Tests create their directories in `temporary`, which must be empty at the end. */
const usual = process.env['TMPDIR'];
const temporary = mkdtempSync(join(tmpdir(), 'lock-topologies-'));

beforeAll(() => {
  process.env['TMPDIR'] = temporary;
});

afterAll(() => {
  if (usual === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = usual;
  const left = readdirSync(temporary);
  rmSync(temporary, { recursive: true });
  expect(left).toEqual([]);
});

describe('a sentinel group', () => {
  it('fails over on request and after a crash, and demotes a restarted primary', async () => {
    const group = await SentinelGroup.start();
    try {
      const client = group.client();
      const first = await group.primary();
      expect(await client.set('key', '1')).toBe('OK');
      expect(await client.wait(2, 5_000)).toBe(2);
      const second = await group.failover();
      expect(second).not.toBe(first);
      expect(await group.primary()).toBe(second);
      expect(await group.keys()).toEqual(['key']);

      expect(await group.killPrimary()).toBe(second);
      const third = await group.promotedAfter(second);
      expect(third).not.toBe(second);
      expect(await client.get('key')).toBe('1');

      await group.restart(second);
      expect(await group.replicas()).toContain(second);
      expect(await second.client().get('key')).toBe('1');
      await group.flush();
      expect(await group.keys()).toEqual([]);
    } finally {
      await group.close();
    }
  });

  it('promotes a replica that has missed the latest write', async () => {
    const group = await SentinelGroup.start({ password: 'open sesame' });
    try {
      const client = group.client();
      await client.set('kept', '1');
      expect(await client.wait(2, 5_000)).toBe(2);
      await group.cutReplication();
      await client.set('lost', '1');
      expect(await client.wait(1, 100)).toBe(0);
      const former = await group.killPrimary();
      group.resumeReplicas();
      await group.promotedAfter(former);
      expect(await group.keys()).toEqual(['kept']);
    } finally {
      await group.close();
    }
  });

  it('demotes a former primary that was paused while another was promoted', async () => {
    const group = await SentinelGroup.start();
    try {
      const former = await group.stopPrimary();
      const successor = await group.promotedAfter(former);
      const client = former.client();
      former.resume();
      await until('the former primary follows', async () => {
        const [role, , port] = (await client.call('ROLE')) as [string, string, number];
        return role === 'slave' && port === successor.port;
      });
    } finally {
      await group.close();
    }
  });
});

describe('a cluster', () => {
  it('fails over on request and after a crash, and demotes a restarted primary', async () => {
    const cluster = await RedisCluster.start();
    try {
      const client = cluster.client();
      await Promise.all(['a', 'b', 'c', 'd'].map((key) => client.set(key, key)));
      expect(await cluster.keys()).toEqual(['a', 'b', 'c', 'd']);
      const [first, replica] = [await cluster.primaryOf('a'), await cluster.replicaOf('a')];
      await cluster.failover(replica);
      expect(await cluster.primaryOf('a')).toBe(replica);
      expect(await cluster.replicaOf('a')).toBe(first);

      expect(await cluster.killPrimaryOf('a')).toBe(replica);
      expect(await cluster.promotedAfter(replica)).toBe(first);
      expect(await client.get('a')).toBe('a');

      await cluster.restart(replica);
      expect(await cluster.replicaOf('a')).toBe(replica);
      await cluster.flush();
      expect(await cluster.keys()).toEqual([]);
    } finally {
      await cluster.close();
    }
  });

  it('promotes a replica that has missed the latest write', async () => {
    const cluster = await RedisCluster.start();
    try {
      const client = cluster.client();
      await client.set('{x}kept', '1');
      const primary = await cluster.primaryOf('{x}');
      expect(await primary.client().wait(1, 5_000)).toBe(1);
      const replicas = await cluster.cutReplicationOf('{x}');
      await client.set('{x}lost', '1');
      await cluster.killPrimaryOf('{x}');
      for (const replica of replicas) replica.resume();
      await cluster.promotedAfter(primary);
      expect(await cluster.keys()).toEqual(['{x}kept']);
    } finally {
      await cluster.close();
    }
  });

  it('moves a slot, and can stop in the middle of it', async () => {
    const cluster = await RedisCluster.start({ replicasEach: 0 });
    try {
      const client = cluster.client();
      const slot = keySlot('{x}');
      await client.mset('{x}1', '1', '{x}2', '2');
      const [from, to] = [await cluster.primaryOf(slot), await cluster.primaryOf(slot === 0 ? 16_383 : 0)];
      const migration = await cluster.beginMigration(slot, to);
      await migration.moveKeys(['{x}1']);
      expect(await cluster.primaryOf(slot)).toBe(from);
      expect(await client.get('{x}1')).toBe('1');
      expect(await rejectionOf(from.client().mget('{x}1', '{x}2'))).toMatchObject({
        message: expect.stringContaining('TRYAGAIN'),
      });
      await migration.moveKeys();
      await migration.finish();
      expect(await cluster.primaryOf(slot)).toBe(to);
      expect(await client.mget('{x}1', '{x}2')).toEqual(['1', '2']);

      await cluster.migrateSlot(slot, from);
      expect(await from.client().get('{x}2')).toBe('2');
    } finally {
      await cluster.close();
    }
  });
});

describe('a fleet', () => {
  it('consists of independent servers', async () => {
    const fleet = await ServerFleet.start();
    try {
      expect(new Set(fleet.urls).size).toBe(5);
      await fleet.clients[0]!.set('here', '1');
      await fleet.clients[4]!.mset('here', '2', 'there', '2');
      expect(await fleet.clients[1]!.exists('here')).toBe(0);
      expect(await fleet.keys()).toEqual(['here', 'there']);
      await fleet.servers[0]!.kill();
      await fleet.flush();
      expect(await fleet.keys()).toEqual([]);
    } finally {
      await fleet.close();
    }
  });
});

describe('a server', () => {
  it('accepts TLS only from clients that trust its authority', async () => {
    const server = await RedisServer.start({ tls: true });
    const trusting = new Redis(server.url, { tls: { ...server.tls } });
    const distrustful = new Redis(server.url, { lazyConnect: true, retryStrategy: null });
    distrustful.on('error', () => undefined);
    try {
      expect(server.url).toMatch(/^rediss:/);
      expect(await trusting.ping()).toBe('PONG');
      expect(await server.client().ping()).toBe('PONG');
      await expect(distrustful.connect()).rejects.toThrow();
      await server.restart();
      expect(await server.client().ping()).toBe('PONG');
    } finally {
      trusting.disconnect();
      distrustful.disconnect();
      await server.close();
    }
  });

  it('limits an ACL user to its rules', async () => {
    const server = await RedisServer.start();
    const url = await server.addUser('clerk', 'p@ss:word', ['~desk:*', '+get', '+set', '+info']);
    const clerk = new Redis(url);
    try {
      expect(await clerk.set('desk:1', '1')).toBe('OK');
      await expect(clerk.set('safe', '1')).rejects.toThrow('NOPERM');
      await expect(clerk.del('desk:1')).rejects.toThrow('NOPERM');
    } finally {
      clerk.disconnect();
      await server.close();
    }
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;

  onLinux('has a wall clock that jumps, and continues from there', async () => {
    const server = await RedisServer.start({ clock: true });
    try {
      const client = server.client();
      const ahead = async (): Promise<number> => {
        const [seconds] = await client.time();
        return (Number(seconds) - Date.now() / 1_000) / 60;
      };
      await client.set('key', '1', 'PX', 60_000);
      expect(await ahead()).toBeCloseTo(0, 0);
      server.setClock(-3_600_000);
      expect(await ahead()).toBeCloseTo(-60, 0);
      expect(await client.pttl('key')).toBeGreaterThan(3_600_000);
      server.setClock(61_000);
      expect(await client.exists('key')).toBe(0);

      server.setClock(-7_200_000);
      await client.set('key', '2', 'PX', 200);
      expect(await client.get('key')).toBe('2');
      // By the server's own timer: no client reads the key.
      await until('the key has expired', async () => (await client.dbsize()) === 0);
      await server.restart();
      expect(await ahead()).toBeCloseTo(-120, 0);
    } finally {
      await server.close();
    }
  });
});

describe('a worker', () => {
  it('has a wall clock that jumps', async () => {
    const worker = await WorkerProcess.start(undefined, { clock: true });
    try {
      const ahead = async (): Promise<number> => ((await worker.do('now', {})) - Date.now()) / 60_000;
      expect(await ahead()).toBeCloseTo(0, 0);
      worker.setClock(3_600_000);
      expect(await ahead()).toBeCloseTo(60, 0);
      worker.setClock(-3_600_000);
      expect(await ahead()).toBeCloseTo(-60, 0);
    } finally {
      await worker.kill();
    }
  });
});
