import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandLine, runHere, type Ended } from '../../support/command-line.js';
import { LockApp } from '../../support/lock-app.js';
import { TestFolder } from '../../support/test-folder.js';
import { until } from '../../support/until.js';
import { configOf, optionsOf, type OperatedStore, type Reach } from './operated-store.js';

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
