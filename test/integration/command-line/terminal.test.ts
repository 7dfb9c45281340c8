import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { RedisScene } from '../../faults/redis-scene.js';
import { CommandLine } from '../../support/command-line.js';

/** Part of util-linux: runs a command in its own terminal. */
const hasScript = process.platform === 'linux' && existsSync('/usr/bin/script');

const quoted = (word: string): string => `'${word.replaceAll("'", String.raw`'\''`)}'`;
/** With `exec`: a shell that waits for the command would also receive the terminal's INT, and exit. */
const atTerminal = (command: readonly string[]): readonly string[] => [
  '/usr/bin/script',
  '-qec',
  `exec ${command.map(quoted).join(' ')}`,
  '/dev/null',
];

(hasScript ? describe : describe.skip)('O25, O26: the command line at a terminal', () => {
  const scene = new RedisScene();
  const start = (args: readonly string[], input?: string): CommandLine => {
    const env = { LOCK_REDIS_URL: scene.url, TERM: 'xterm-256color' };
    const settings = { env, through: atTerminal, ...(input === undefined ? { isTyping: true } : { input }) };
    return scene.until(CommandLine.start(args, settings));
  };

  it.each([
    ['y\n', 0],
    ['yes\n', 0],
    ['n\n', 1],
    ['\n', 1],
    ['\u0003', 1],
    ['\u0004', 1],
  ])('asks for confirmation before it breaks a lock: %j', async (answer, code) => {
    const app = await scene.app();
    const key = scene.key();
    const held = await app.locks.acquire(key, { label: 'stuck' });
    const asking = start(['break', key, '--token', String(held.token)]);
    await asking.wrote(/\[y\/N\]/);
    asking.type(answer);
    const ended = await asking.ended();
    expect(ended.code).toBe(code);
    expect(ended.stdout).toContain(`pid ${process.pid} ("stuck"), token ${held.token}`);
    expect(ended.stdout).toContain(`Break the lock ${key}? The holder's work continues. [y/N]`);
    expect(ended.stdout).toContain(code === 0 ? `${key} was broken.` : 'Nothing was broken.');
    expect(await app.locks.isLocked(key)).toBe(code === 1);
  });

  it('colours findings, unless colours are disabled', async () => {
    const coloured = await start(['doctor'], '').ended();
    expect(coloured.stdout).toContain('\u001b[32mok');
    const env = { LOCK_REDIS_URL: scene.url, TERM: 'xterm-256color', NO_COLOR: '1' };
    const plain = await CommandLine.run(['doctor'], { env, through: atTerminal, input: '' });
    expect(plain.stdout).not.toContain('\u001b[');
  });

  it('does not forward Ctrl-C, which the terminal sends to the command itself', async () => {
    const app = await scene.app();
    const key = scene.key();
    const script = `
      process.on('SIGINT', () => { console.log('INT'); setTimeout(() => process.exit(5), 1_500); });
      console.log('ready'); setTimeout(() => process.exit(99), 120_000);`;
    const running = start(['lock', key, '--', process.execPath, '-e', script]);
    await running.wrote(/ready/);
    running.type('\u0003');
    const ended = await running.ended();
    expect(ended.code).toBe(5);
    expect(ended.stdout.match(/INT/g)).toHaveLength(1);
    expect(await app.locks.isLocked(key)).toBe(false);
  });

  it('F75: keeps its terminal, and ends with all its processes when the lock is lost', async () => {
    const app = await scene.app();
    const key = scene.key();
    const child = `
      process.stdin.on('data', (line) => console.log('child read', String(line).trim()));
      process.on('SIGTERM', () => { console.log('child heard TERM'); process.exit(0); });
      console.log('ready'); setTimeout(() => process.exit(99), 120_000);`;
    const running = start([
      'lock',
      key,
      '--',
      'sh',
      '-c',
      '"$0" -e "$1" && echo next',
      process.execPath,
      child,
    ]);
    await running.wrote(/ready/);
    running.type('typed\n');
    await running.wrote(/child read typed/);
    await app.admin.forceRelease(key);
    const ended = await running.ended();
    expect(ended.code).toBe(74);
    expect(ended.stdout).toContain('child heard TERM');
    expect(ended.stdout).not.toContain('next\r');
  });

  it('F75: waits for what the command has left behind, but not for the next program of a pipeline', async () => {
    const app = await scene.app();
    const key = scene.key();
    const left = "console.log('left', process.pid, '.'); setTimeout(() => process.exit(99), 120_000);";
    const pipeline = (command: readonly string[]): readonly string[] => [
      '/usr/bin/script',
      '-qec',
      `${command.map(quoted).join(' ')} | cat`,
      '/dev/null',
    ];
    const command = ['sh', '-c', '"$0" -e "$1" & exit 6', process.execPath, left];
    const env = { LOCK_REDIS_URL: scene.url };
    const running = scene.until(
      CommandLine.start(['lock', key, '--', ...command], { env, through: pipeline, isTyping: true }),
    );
    const [, pid = ''] = await running.wrote(/left (\d+)/);
    await running.wrote(/processes that it started have not/);
    expect(await app.locks.tryAcquire(key)).toBeNull();
    process.kill(Number(pid), 'SIGKILL');
    await running.ended();
    expect(await app.locks.isLocked(key)).toBe(false);
  });
});
