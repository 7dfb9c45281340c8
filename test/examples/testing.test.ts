import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { examples } from '../../.scripts/applications/examples.mjs';
import { Example, send } from '../support/example.js';

describe('examples/testing', () => {
  const example = new Example('testing');

  it('has tests that pass with Jest, without a Redis', async () => {
    const jest = join(examples, 'node_modules/jest/bin/jest.js');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--experimental-vm-modules', jest, '--rootDir', 'dist/testing', '--json', '--runInBand'],
      { cwd: examples, env: { ...process.env, REDIS_URL: 'redis://localhost:1', NODE_OPTIONS: '' } },
    );
    const { numFailedTests, numPassedTests } = JSON.parse(stdout) as Record<string, number>;
    expect(numFailedTests).toBe(0);
    expect(numPassedTests).toBeGreaterThan(10);
  }, 60_000);

  it('has tests that pass with Vitest, without a Redis', async () => {
    const vitest = join(examples, 'node_modules/vitest/vitest.mjs');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [vitest, 'run', '--root', 'testing', '--reporter=json'],
      { cwd: examples, env: { ...process.env, REDIS_URL: 'redis://localhost:1', NODE_OPTIONS: '' } },
    );
    const { numFailedTests, numPassedTests } = JSON.parse(stdout) as Record<string, number>;
    expect(numFailedTests).toBe(0);
    expect(numPassedTests).toBeGreaterThan(10);
  }, 60_000);

  it('is the application that they test', async () => {
    await using _held = await example.locks.acquire('payment:7');
    expect((await send(example.app, 'POST', '/payments/7')).status).toBe(423);
  });
});
