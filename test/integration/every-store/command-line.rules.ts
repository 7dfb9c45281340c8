import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandLine, runHere, type Ended } from '../../support/command-line.js';
import { LockApp } from '../../support/lock-app.js';
import { TestFolder } from '../../support/test-folder.js';
import { until } from '../../support/until.js';
import { node, UNTIL_ENDED } from '../command-line/command-under-lock.js';
import { configOf, optionsOf, type OperatedStore, type Reach } from './operated-store.js';

interface Told {
  readonly event: string;
  readonly lock: { readonly holders: readonly { readonly token: number | null }[] } | null;
}

/** The command line with each store, by a configuration file. */
export function commandLineRules(store: () => OperatedStore): void {
  describe('O25, O26: the command line, with --config', () => {
    const apps: LockApp[] = [];
    const programs: CommandLine[] = [];
    const folder = new TestFolder();
    let config: string;

    const fileWith = (reach: Reach): Promise<string> => folder.write(`${randomUUID()}.mjs`, configOf(reach));
    beforeAll(async () => {
      config = await fileWith(store().reach);
    });
    afterEach(async () => {
      for (const program of programs.splice(0)) await program.kill();
      await Promise.all(apps.splice(0).map((app) => app.close()));
    });

    const app = async (): Promise<LockApp> => {
      const started = await LockApp.start({ ...optionsOf(store().reach), shutdownTimeout: 100 });
      apps.push(started);
      return started;
    };
    const start = (command: string, ...args: string[]): CommandLine => {
      const program = CommandLine.start([command, '--config', config, ...args]);
      programs.push(program);
      return program;
    };
    /** Runs in this process if the options need no built package, and the command no signals. */
    const run = (command: string, ...args: string[]): Promise<Ended> =>
      'module' in store().reach && command !== 'watch' && command !== 'lock'
        ? runHere([command, '--config', config, ...args])
        : start(command, ...args).ended();

    it('list and show report the holder and the waiters of a lock', async () => {
      const { reach } = store();
      const isOfRedisson = 'factory' in reach && reach.factory === 'redissonStore';
      const isBound = 'factory' in reach && reach.factory !== 'postgresStore' && !isOfRedisson;
      const [holder, waiter] = [await app(), await app()];
      const key = `invoices:${randomUUID()}`;
      const held = await holder.locks.acquire(key, { label: 'import' });
      waiter.locks.acquire(key, { waitTime: 120_000, label: 'next' }).catch(() => undefined);
      await until('it waits there', async () => (await holder.admin.inspect(key))?.waiting === 1);
      const [list, table, show, document, free] = await Promise.all([
        run('list', '--json', '--match', 'invoices:*'),
        run('list', '--match', 'invoices:*'),
        run('show', key),
        run('show', key, '--json'),
        run('show', `${key}:free`),
      ]);
      const shown = {
        key,
        mode: 'exclusive',
        limit: 1,
        holders: [{ token: held.token, pid: process.pid, label: 'import', remainingIsBound: isBound }],
        waiting: 1,
        // Redisson keeps no waiters: only their number is known.
        waiters: [{ callers: 1, ...(!isOfRedisson && { pid: process.pid, label: 'next' }) }],
      };
      expect(list).toMatchObject({ code: 0, stderr: '' });
      expect(JSON.parse(list.stdout)).toMatchObject({ total: 1, locks: [shown] });
      expect(table.stderr).toMatch(
        /^1 lock in .+, (?:prefix|path|schema) ".*"(?: \(other hashes may be among them\))?\.\n$/,
      );
      expect(table.stdout).toMatch(isBound ? / {2}≤ [\d.]+ s +1\n$/ : / {2}[\d.]+ s +1\n$/);
      expect(document).toMatchObject({ code: 0, stderr: '' });
      const lock = JSON.parse(document.stdout) as {
        holders: [{ since: string; heldFor: number; remaining: number }];
      };
      expect(lock).toMatchObject(shown);
      const [{ since, heldFor, remaining }] = lock.holders;
      // By the clock of the store.
      expect(Math.abs(Date.parse(since) - held.acquiredAt)).toBeLessThan(5_000);
      expect(heldFor).toBeGreaterThanOrEqual(0);
      expect(remaining).toBeGreaterThan(0);
      expect(remaining).toBeLessThanOrEqual(30_000);
      expect(show).toMatchObject({ code: 0, stderr: '' });
      const lines = show.stdout.trimEnd().split('\n');
      expect(lines).toEqual([
        `${key} is held (exclusive); 1 waiting`,
        expect.stringMatching(
          new RegExp(
            `^  held by  \\S+ pid ${process.pid} \\("import"\\), token ${held.token}, for .+, lease ends in ${isBound ? '≤ ' : ''}[\\d.]+ s$`,
          ),
        ),
        isOfRedisson
          ? expect.stringMatching(/^ {2}waits .*exclusive$/)
          : expect.stringMatching(new RegExp(`^  waits    \\S+ pid ${process.pid} \\("next"\\), exclusive$`)),
        `to break it: npx nestjs-distributed-lock break ${key} --token ${held.token} --config ${config}`,
      ]);
      expect(free).toMatchObject({ code: 1, stdout: `${key}:free is free\n`, stderr: '' });
    });

    it('watch reports the changes of a lock', async () => {
      const [one, other] = [await app(), await app()];
      const key = `watched:${randomUUID()}`;
      const watching = start('watch', key, '--json', '--interval', '100ms');
      await watching.wrote(/"event":"free"/);
      const first = await one.locks.acquire(key);
      await watching.wrote(/"event":"held"/);
      const waiting = other.locks.acquire(key, { waitTime: 120_000 });
      await watching.wrote(/"event":"waiting"/);
      await first.release();
      const next = await waiting;
      await watching.wrote(/"event":"passed"/);
      await next.release();
      await watching.wrote(/"event":"free"[^]*"event":"free"/);
      const changes = watching.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Told);
      const tokens = changes.map(({ event, lock }) => `${event} ${lock?.holders[0]?.token ?? 'none'}`);
      // In ZooKeeper the next waiter holds the lock before it has written its token.
      expect(tokens.filter((one) => one !== 'passed none')).toEqual(
        expect.arrayContaining(['free none', `held ${first.token}`, `waiting ${first.token}`]),
      );
      const events = changes.map(({ event }) => event);
      expect(events.filter((event, index) => event !== events[index - 1])).toEqual([
        'free',
        'held',
        'waiting',
        'passed',
        'free',
      ]);
      for (const one of tokens.filter((each) => each.startsWith('passed'))) {
        expect(['passed none', `passed ${next.token}`]).toContain(one);
      }
    });

    it('break ends the hold with that token, once, and the waiter acquires the lock', async () => {
      const [stuck, other] = [await app(), await app()];
      const key = `stuck:${randomUUID()}`;
      const held = await stuck.locks.acquire(key);
      const waiting = other.locks.acquire(key, { waitTime: 120_000 });
      await until('it waits there', async () => (await stuck.admin.inspect(key))?.waiting === 1);
      const command = [key, '--token', String(held.token), '--yes'];
      const broken = await run('break', ...command);
      expect(broken).toMatchObject({ code: 0, stderr: '' });
      expect(broken.stdout).toContain(`${key} was broken.`);
      const next = await waiting;
      expect(next.token).toBeGreaterThan(held.token);
      await until('the loss is detected', () => !held.isHeld, { deadline: 60_000 });
      const again = await run('break', ...command);
      expect(again.code).toBe(1);
      expect(again.stdout).toContain(`is not held under token ${held.token}, so nothing was broken`);
      expect(next.isHeld).toBe(true);
    });

    it('lock runs a program under a lock, one at a time', async () => {
      const key = `job:${randomUUID()}`;
      const first = start('lock', key, ...node(UNTIL_ENDED));
      await first.wrote(/pid/);
      const { locks, admin } = await app();
      const token = (await admin.inspect(key))?.token;
      const second = await run('lock', key, '--wait', '0', ...node(''));
      expect(second.code).toBe(75);
      expect(second.stderr).toMatch(
        new RegExp(
          `^nestjs-distributed-lock: The lock "${key}" is held.* Held by \\S+ pid ${first.pid} .*token ${token}`,
        ),
      );
      const third = start(
        'lock',
        key,
        '--wait',
        '2m',
        ...node('console.log(process.env.LOCK_KEY, process.env.LOCK_TOKEN)'),
      );
      await until('it waits there', async () => (await admin.inspect(key))?.waiting === 1, {
        deadline: 60_000,
      });
      await first.kill('SIGTERM');
      expect(await first.ended()).toMatchObject({ code: 143 });
      const { code, stdout, stderr } = await third.ended();
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      const [, ofThird = ''] = new RegExp(`^${key} (\\d+)\\n$`).exec(stdout) ?? [];
      expect(Number(ofThird)).toBeGreaterThan(token ?? Infinity);
      expect(await locks.isLocked(key)).toBe(false);
    });

    it('doctor finds no problem', async () => {
      const { code, stdout, stderr } = await run('doctor', '--json');
      const { ok, findings } = JSON.parse(stdout) as {
        ok: boolean;
        findings: { check: string; level: string; text: string }[];
      };
      expect(findings.filter(({ level }) => level === 'problem')).toEqual([]);
      expect({ code, stderr, ok }).toEqual({ code: 0, stderr: '', ok: true });
      // A store may have other warnings.
      const ofServers = ['version', 'role', 'rights', 'eviction', 'persistence', 'clock'];
      expect(findings.map(({ check }) => check)).toEqual(
        expect.arrayContaining([
          'connection',
          'latency',
          'lock',
          'pub/sub',
          ...(store().isExamined ? ofServers : []),
        ]),
      );
    });

    it('exits with 69 if the server is unreachable, and shows no password', async () => {
      config = await fileWith(store().nowhere);
      try {
        const commands = [
          ['list'],
          ['show', 'k'],
          ['watch', 'k'],
          ['break', 'k', '--token=1', '--yes'],
          ['lock', 'k', '--wait=0', '--', 'true'],
        ] as const;
        const ended = await Promise.all(commands.map(([command, ...args]) => run(command, ...args)));
        const examined = await run('doctor');
        for (const { code, stdout, stderr } of ended) {
          expect({ code, stdout, stderr }).toEqual({
            code: 69,
            stdout: '',
            stderr: expect.stringMatching(/^nestjs-distributed-lock: .+\n$/),
          });
        }
        expect(examined).toMatchObject({ code: 1, stderr: '' });
        expect(examined.stdout).toMatch(/problem +lock +no lock can be acquired: /);
        for (const { stdout, stderr } of [...ended, examined])
          expect(stdout + stderr).not.toContain('geheim');
      } finally {
        config = await fileWith(store().reach);
      }
    });
  });
}
