import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandLine } from '../support/command-line.js';
import { RedisServer } from '../support/redis-server.js';
import { PackedPackage } from './consumer.js';

const run = promisify(execFile);
const modules = join(import.meta.dirname, '../../node_modules');

/** The peer dependencies that the program uses. */
const NEEDED = ['ioredis', 'rxjs'];

describe('the command line in the tarball', () => {
  let folder: string;
  let program: string;
  let redis: RedisServer;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lock-program-'));
    const [packed, server] = await Promise.all([PackedPackage.pack(), RedisServer.start()]);
    redis = server;
    const place = join(folder, 'node_modules/nestjs-distributed-lock');
    await mkdir(place, { recursive: true });
    await run('tar', ['-xzf', packed.tarball, '-C', place, '--strip-components=1']);
    await packed.remove();
    for (const name of NEEDED) await symlink(join(modules, name), join(folder, 'node_modules', name));
    const manifest = JSON.parse(await readFile(join(place, 'package.json'), 'utf8')) as {
      bin: Record<string, string>;
    };
    expect(Object.keys(manifest.bin)).toEqual(['nestjs-distributed-lock']);
    program = join(place, manifest.bin['nestjs-distributed-lock']!);
  });

  afterAll(async () => {
    await redis.close();
    await rm(folder, { recursive: true, force: true });
  });

  it('O25: runs every command without Nest', async () => {
    expect((await readFile(program, 'utf8')).startsWith('#!/usr/bin/env node\n')).toBe(true);
    await expect(
      run(process.execPath, ['-e', "require('@nestjs/common')"], { cwd: folder }),
    ).rejects.toThrow();
    const env = { LOCK_REDIS_URL: redis.url };
    const start = (...args: string[]): Promise<{ code: number | null; stderr: string }> =>
      CommandLine.run(args, { program, env });
    expect(await start('lock', 'k', '--hold-at-least=1m', '--', process.execPath, '-e', '')).toMatchObject({
      code: 0,
    });
    expect(await start('list')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^1 lock in Redis at \S+, prefix "lock:"\.\n$/),
    });
    const { code, stdout } = await CommandLine.run(['show', 'k', '--json'], { program, env });
    expect(code).toBe(0);
    const { holders } = JSON.parse(stdout) as { holders: [{ token: number }] };
    expect(await start('break', 'k', `--token=${holders[0].token}`, '--yes')).toMatchObject({ code: 0 });
    expect(await start('doctor')).toMatchObject({ code: 0, stderr: '' });
    const watching = CommandLine.start(['watch', 'k'], { program, env });
    await watching.wrote(/k {2}free/);
    await watching.kill();
    await watching.exited();
  });
});
