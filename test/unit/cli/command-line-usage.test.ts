import { describe, expect, it } from '@jest/globals';
import { run } from '../../../lib/cli/run.js';
import type { OutputStream } from '../../../lib/cli/common/output.js';

/** Runs the program in this process. */
async function called(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const written = { stdout: '', stderr: '' };
  const streamOf = (name: keyof typeof written): OutputStream => ({
    on: () => undefined,
    write: (text, done) => {
      written[name] += text;
      done?.();
      return true;
    },
  });
  const load = (): Promise<unknown> => Promise.reject(new Error('there is no such file'));
  const setting = { argv, env: {}, stdout: streamOf('stdout'), stderr: streamOf('stderr'), load };
  const code = await run(setting);
  return { code, ...written };
}

describe('O25: the command line', () => {
  it.each([
    [[], 'There is no command|The first argument must be a command'],
    [['redis://me:geheim@host'], 'The first argument must be a command'],
    [['lists'], 'There is no command lists'],
    [['list'], 'Say where the locks are'],
    [['list', 'redis://me:geheim@host'], 'This command has options only'],
    [['list', '--redis://me:geheim@host'], 'Unknown option'],
    [
      ['list', '--redis', 'me:geheim@host'],
      '--redis must be a URL, such as redis://localhost:6379, or rediss://localhost:6379 with TLS.',
    ],
    [['list', '--redis', 'cache-1:6380'], '--redis must be a URL, such as redis://cache-1:6380, or '],
    [
      ['break', 'k', '--token', '--yes'],
      '--token needs a value. Write --token=VALUE if the value begins with -.',
    ],
    [['break', 'k', '--token'], '--token needs a value.'],
    [['list', '--redis', 'redis://me:ge%heim@host'], 'could not be read'],
    [['list', '--redis', 'redis://h', '--limit', '0'], '--limit must be a whole number from 1'],
    [['list', '--redis', 'redis://h', '--match', ''], 'match must be a string'],
    [['list', '--config', 'no-such-file.mjs'], 'could not be loaded'],
    [['list', '--config', 'f', '--redis', 'redis://h'], '--config and --redis exclude each other'],
    [['list', '--sentinel', 'main', '--redis', 'http://me:geheim@host'], 'must be the URL of a sentinel'],
    [['list', '--sentinel', 'main', '--cluster', '--redis', 'redis://h'], 'exclude each other'],
    [['list', '--redis', 'redis://h', '--redis', 'redis://h'], 'same server'],
    [['list', '--redis', 'redis://h', '--key-prefix', '}{'], 'keyPrefix'],
    [['list', '--cursor', '../../geheim@', '--redis', 'redis://h'], 'Unknown option'],
    [['show', '--redis', 'redis://h'], 'Give the KEY'],
    [['show', 'a', 'b', '--redis', 'redis://h'], 'one KEY only'],
    [['show', 'x'.repeat(2_000), '--redis', 'redis://h'], 'at most 1024 bytes'],
    [['watch', '--redis', 'redis://h', '--interval', '5'], 'duration with its unit'],
    [['watch', '--redis', 'redis://h', '--interval', '5ms'], '100ms or more'],
    [['watch', 'k', '--match', '*', '--redis', 'redis://h'], 'not both'],
    [['doctor', 'k'], 'options only'],
    [['break', 'k', '--redis', 'redis://h'], 'Give --token T'],
    [['break', 'k', '--token', '-1', '--redis', 'redis://h'], '--token needs a value. Write --token=VALUE'],
    [['break', 'k', '--token=', '--redis', 'redis://h'], 'Give --token T'],
    [['lock', 'k'], 'Give a command to run'],
    [['lock', 'k', '--'], 'Give a command to run'],
    [['lock', '--', 'true'], 'Give the KEY'],
    [['lock', 'k', '--wait', 'soon', '--', 'true'], '--wait must be a duration'],
    [['lock', 'k', '--limit', '0', '--', 'true'], '--limit must be a whole number'],
    [['lock', 'k', '--limit', '2', '--shared', '--', 'true'], 'exclude each other'],
    [['lock', 'k', '--lease', '1s', '--', 'true'], 'Unknown option'],
  ])('exits with 64 for %j, with the correct usage', async (args, message) => {
    const ended = await called(...args);
    expect(ended).toMatchObject({ code: 64, stdout: '' });
    expect(ended.stderr).toMatch(new RegExp(`^nestjs-distributed-lock: .*(${message})`));
    expect(ended.stderr).not.toContain('geheim');
    expect(ended.stderr.trimEnd()).not.toContain('\n');
  });

  it.each(['list', 'show', 'watch', 'break', 'doctor', 'lock'])(
    '%s --help prints its help',
    async (command) => {
      const ended = await called(command, '--help');
      expect(ended).toMatchObject({ code: 0, stderr: '' });
      expect(ended.stdout).toMatch(new RegExp(`^Usage: nestjs-distributed-lock ${command}\\b`));
      expect(ended.stdout).toContain('Exit codes:');
      expect(Math.max(...ended.stdout.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(120);
    },
  );

  it('--help lists all commands', async () => {
    const { stdout, code } = await called('--help');
    expect(code).toBe(0);
    for (const command of ['list', 'show', 'watch', 'break', 'doctor', 'lock']) {
      expect(stdout).toMatch(new RegExp(`^  ${command} +\\S`, 'm'));
    }
  });
});
