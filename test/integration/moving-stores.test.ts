import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { DistributedLockOptions } from '../../lib/index.js';
import { postgresStore } from '../../lib/stores/postgres/index.js';
import { CommandLine } from '../support/command-line.js';
import { LockApp } from '../support/lock-app.js';
import { PostgresServer } from '../support/postgres-server.js';
import { RedisServer } from '../support/redis-server.js';
import { whereThereIsPostgres } from '../support/where-there-is.js';

const textOf = (name: string): string => readFileSync(join(import.meta.dirname, '../../docs', name), 'utf8');
const page = textOf('upgrading.md');

/** The command of the page for a store, split into words as a shell does. */
function commandFor(program: string): readonly string[] {
  const [, command = ''] = new RegExp(`\`(${program} [^\`]*)\``).exec(page) ?? [];
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}

describe('the page about moving to another store', () => {
  const ends: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  const start = async (options: DistributedLockOptions): Promise<LockApp> => {
    const app = await LockApp.start({ ...options, shutdownTimeout: 100 });
    ends.push(() => app.close());
    return app;
  };

  /** The token of a new process with these options. */
  const nextToken = async (options: () => DistributedLockOptions): Promise<number> => {
    const app = await start(options());
    const handle = await app.locks.acquire('order:42', { waitTime: 30_000 });
    await handle.release();
    await app.close();
    return handle.token;
  };

  const raisedBy = async (
    options: () => DistributedLockOptions,
    raise: () => Promise<unknown>,
  ): Promise<void> => {
    expect(await nextToken(options)).toBeLessThan(3e15);
    await raise();
    const first = await nextToken(options);
    expect(first).toBeGreaterThan(3e15);
    expect(await nextToken(options)).toBeGreaterThan(first);
  };

  it('raises tokens of Redis', async () => {
    const server = await RedisServer.start();
    ends.push(() => server.close());
    const [, command = '', ...args] = commandFor('redis-cli');
    await raisedBy(
      () => ({ redis: server.url }),
      () => server.client().call(command, ...args),
    );
  });

  it('prints the last token of a store', async () => {
    const server = await RedisServer.start();
    ends.push(() => server.close());
    const before = await nextToken(() => ({ redis: server.url }));
    const [, name = '', lock = '', key = ''] = /npx (\S+) (lock) (\S+) --config/.exec(page) ?? [];
    expect(name).toBe('nestjs-distributed-lock');
    const command = ['--redis', server.url, '--', 'printenv', 'LOCK_TOKEN'];
    const { stdout } = await CommandLine.run([lock, key, ...command]);
    expect(Number(stdout)).toBeGreaterThan(before);
  });

  whereThereIsPostgres('to raise tokens of PostgreSQL', () => {
    it('raises tokens of PostgreSQL', async () => {
      const server = await PostgresServer.startWithSchema();
      ends.push(() => server.close());
      const client = await server.client();
      await raisedBy(
        () => ({ store: postgresStore({ connection: server.url }) }),
        () => client.query(commandFor('psql').at(-1) ?? ''),
      );
    });
  });

  // A test of that page raises tokens with them.
  it.each(['etcdctl put distributed-lock/base', 'zkCli.sh set /distributed-locks/base'])(
    'has the command of the page about restoring: %s',
    (command) => {
      expect(textOf('operations/runbook.md')).toContain(command);
      expect(page).toContain(`\`${command} 3000000000000000\``);
    },
  );
});
