import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { guardAgainstOrphans } from '../../support/orphan-guard.js';
import { RedisServer } from '../../support/redis-server.js';
import { until } from '../../support/until.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));

describe('a process that ends without shutting its application down', () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await RedisServer.start();
  });
  afterAll(() => server.close());

  /** Runs an application that holds a lock, and then `end`. */
  function run(
    end: string,
    options = `{ redis: '${server.url}' }`,
  ): { child: ChildProcess; output: () => string } {
    const key = `job-${randomUUID()}`;
    const program = `
      require('reflect-metadata');
      const { NestFactory } = require('@nestjs/core');
      const { DistributedLockModule, LockService } = require('./dist/cjs/index.js');
      class AppModule {}
      Reflect.decorate([require('@nestjs/common').Module({ imports: [DistributedLockModule.forRoot(${options})] })], AppModule);
      NestFactory.createApplicationContext(AppModule).then(async (app) => {
        const held = await app.get(LockService).acquire('${key}');
        console.log('holds it');
        ${end}
      });`;
    const { NODE_ENV: _, ...env } = process.env;
    const child = spawn(process.execPath, ['-e', program], { cwd: root, env });
    guardAgainstOrphans(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    return { child, output: () => output };
  }

  const atExit = 'The process ends, though its application has not shut down.';
  const inAdvance = 'Nothing in this process handles SIGTERM';

  it('logs the locks that it holds when it exits', async () => {
    const { child, output } = run('process.exit(0);');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(output()).toContain(`${atExit} Locks that it holds stay held until their leases end: "job-`);
  });

  it.each([
    { what: 'it has released them', end: 'await held.release(); process.exit(0);' },
    {
      what: 'the application has shut down',
      end: 'await held.release(); await app.close(); process.exit(0);',
    },
    { what: 'they are in memory', end: 'process.exit(0);', options: "{ store: 'memory' }" },
  ])('logs nothing if $what', async ({ end, options }) => {
    const { child, output } = run(end, options);
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(output()).not.toContain(atExit);
  });

  it('is warned of in advance if nothing handles SIGTERM, and SIGTERM still ends it at once', async () => {
    const { child, output } = run('setInterval(() => undefined, 1_000);');
    await until('it is warned', () => output().includes(inAdvance), { deadline: 60_000 });
    child.kill('SIGTERM');
    expect(await once(child, 'close')).toEqual([null, 'SIGTERM']);
  });

  it('is not warned of if shutdown hooks are enabled', async () => {
    const { child, output } = run(
      'app.enableShutdownHooks(); setTimeout(() => app.close(), 6_000); await held.release();',
    );
    await once(child, 'close');
    expect(output()).toContain('holds it');
    expect(output()).not.toContain(inAdvance);
  });
});
