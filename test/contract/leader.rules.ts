import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { once } from 'node:events';
import { Test, type TestingModule } from '@nestjs/testing';
import { DistributedLockModule, LockAdmin } from '../../lib/index.js';
import {
  LeaderElectionModule,
  OnElected,
  OnRevoked,
  getLeaderElectionToken,
  type LeaderElection,
  type LeaderElectionOptions,
  type Leadership,
  type LeadershipEvent,
  type RevokedEvent,
} from '../../lib/leader/index.js';
import { LogRecorder } from '../support/lock-app.js';
import { gate, stateOf, until, within } from '../support/until.js';
import type { AppSettings, ContractContext } from './contract-context.js';

/** Leads until it is revoked, and then for as long as a test wants. */
@Injectable()
class Office {
  readonly terms: Leadership[] = [];
  readonly ends: RevokedEvent[] = [];
  work: Promise<unknown> = Promise.resolve();
  /** Lets the method of the current leadership throw. */
  fail: ((error: Error) => void) | undefined;

  @OnElected('office')
  async lead(leadership: Leadership): Promise<void> {
    this.terms.push(leadership);
    const failed = new Promise<never>((_, reject) => (this.fail = reject));
    await Promise.race([once(leadership.signal, 'abort'), failed]);
    await this.work;
  }

  /** A second method, which runs for as long as the leadership lasts. */
  @OnElected('office')
  async watch({ signal }: Leadership): Promise<void> {
    await once(signal, 'abort');
  }

  @OnRevoked('office')
  leave(event: RevokedEvent): void {
    this.ends.push(event);
  }
}

/** One process that takes part in the election. */
class Candidate {
  readonly seen: LeadershipEvent[] = [];

  private constructor(
    readonly module: TestingModule,
    readonly election: LeaderElection,
    readonly office: Office,
    readonly log: LogRecorder,
  ) {
    election.leadership$.subscribe((event) => this.seen.push(event));
  }

  static async start(
    context: ContractContext,
    options: LeaderElectionOptions,
    { store, ...settings }: AppSettings = {},
  ): Promise<Candidate> {
    const log = new LogRecorder();
    const place = store === undefined ? context.store.options() : { store };
    const module = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ ...place, shutdownTimeout: 5_000, ...settings }),
        LeaderElectionModule.forFeature('office', options),
      ],
      providers: [Office],
    })
      .setLogger(log)
      .compile();
    await module.init();
    const election = module.get<LeaderElection>(getLeaderElectionToken('office'));
    return new Candidate(module, election, module.get(Office), log);
  }

  get admin(): LockAdmin {
    return this.module.get(LockAdmin);
  }

  async elected(): Promise<Leadership> {
    return await until('it is the leader', () => this.election.leadership);
  }
}

export function leaderRules(context: ContractContext): void {
  describe('leader election', () => {
    const candidates: Candidate[] = [];
    const ends: (() => unknown)[] = [];
    afterEach(async () => {
      for (const end of ends.splice(0)) end();
      await Promise.all(candidates.splice(0).map(({ module }) => module.close()));
    });

    const start = async (options: LeaderElectionOptions, settings?: AppSettings): Promise<Candidate> => {
      const candidate = await Candidate.start(context, options, settings);
      candidates.push(candidate);
      return candidate;
    };
    /** The leader's process knows of the others only what the store knows. */
    const waits = async (key: string, count = 1): Promise<void> => {
      const leader = candidates.find(({ election }) => election.isLeader);
      await until('the others wait', async () => (await leader?.admin.inspect(key))?.waiting === count);
    };

    it('B80: one candidate leads, with a token; methods and subscribers are notified', async () => {
      const key = context.key();
      const one = await start({ key });
      const { token } = await one.elected();
      const two = await start({ key });
      await waits(key);
      expect([one.election.isLeader, two.election.isLeader]).toEqual([true, false]);
      expect(two.election.leadership).toBeUndefined();
      expect(one.seen).toEqual([{ type: 'elected', election: 'office', token, at: expect.any(Number) }]);
      expect(one.office.terms).toMatchObject([{ election: 'office', token, isLeader: true }]);
      expect(two.seen).toEqual([]);
      const late: LeadershipEvent[] = [];
      one.election.leadership$.subscribe((event) => late.push(event));
      expect(late).toEqual(one.seen);
      expect((await two.admin.inspect(key))?.holders).toMatchObject([{ token, label: 'leader of office' }]);
    });

    it('B81: a leader whose lock is broken is revoked before another one leads, and queues again', async () => {
      const key = context.key();
      const one = await start({ key });
      const first = await one.elected();
      const other = await start({ key });
      await waits(key);
      await other.admin.forceRelease(key);
      const second = await other.elected();
      await until('the first is revoked', () => one.seen.length === 2);
      expect(one.election.isLeader).toBe(false);
      expect(first.isLeader).toBe(false);
      expect(first.signal.aborted).toBe(true);
      expect(first.signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'taken' });
      expect(one.office.ends).toMatchObject([{ type: 'revoked', token: first.token, reason: 'taken' }]);
      expect(second.token).toBeGreaterThan(first.token);
      await waits(key);
      await other.election.resign();
      expect((await one.elected()).token).toBeGreaterThan(second.token);
    });

    it('B82: every resign() waits for the end of the work of the leader, and only then the next candidate leads', async () => {
      const key = context.key();
      const one = await start({ key });
      const work = gate();
      ends.push(work.open);
      one.office.work = work.closed;
      const first = await one.elected();
      const two = await start({ key });
      await waits(key);
      const resigned = one.election.resign();
      expect(first.signal.aborted).toBe(true);
      expect(one.election.isLeader).toBe(false);
      await until('it is notified', () => one.office.ends.length === 1);
      expect(one.office.ends).toMatchObject([{ reason: 'resigned', token: first.token }]);
      const again = one.election.resign();
      const late: LeadershipEvent[] = [];
      one.election.leadership$.subscribe((event) => late.push(event));
      expect([await stateOf(resigned), await stateOf(again), late]).toEqual(['pending', 'pending', []]);
      expect(two.election.isLeader).toBe(false);
      work.open();
      await within(10_000, 'both', Promise.all([resigned, again]));
      const second = await two.elected();
      expect(second.token).toBeGreaterThan(first.token);
      // It is a candidate again, behind the others.
      await waits(key);
      await two.election.resign();
      await one.elected();
    });

    it('F67: a leader whose method throws resigns, so that another one leads, and comes back after a pause', async () => {
      const key = context.key();
      const one = await start({ key });
      const { token } = await one.elected();
      const two = await start({ key });
      await waits(key);
      one.office.fail?.(new Error('the database is away'));
      const second = await two.elected();
      expect(second.token).toBeGreaterThan(token);
      expect(one.office.ends).toMatchObject([{ reason: 'failed', token }]);
      expect([one.election.hasFailed, two.election.hasFailed]).toEqual([true, false]);
      // Candidates wait for as long as others lead: that is no sign of trouble.
      expect(one.module.get(LockAdmin).status().longestWait).toBe(0);
      // Nest has one logger in a process: the latest.
      expect(two.log.matching('threw, so its leadership ends and another process can lead: ')).toHaveLength(
        1,
      );
      expect(two.log.matching('again in 1.0 s')).toHaveLength(1);
      await waits(key);
      await two.election.resign();
      await one.elected();
    });

    it('F67: a logger that throws ends neither the election nor the process', async () => {
      const key = context.key();
      const one = await start({ key });
      const fail = (): never => {
        throw new Error('the disk is full');
      };
      Object.assign(one.log, { log: fail, warn: fail, error: fail });
      const { token } = await one.elected();
      one.office.fail?.(new Error('the database is away'));
      await until('it leads again', () => (one.election.leadership?.token ?? 0) > token);
      await within(10_000, 'the resignation', one.election.resign());
      await one.elected();
    });

    it('F73: a method that does not end loses the lock after stopTimeout, and is not called a second time', async () => {
      const key = context.key();
      const one = await start({ key, stopTimeout: 500 });
      const work = gate();
      ends.push(work.open);
      one.office.work = work.closed;
      const { token } = await one.elected();
      const two = await start({ key });
      await waits(key);
      await within(10_000, 'the resignation', one.election.resign());
      const second = await two.elected();
      expect(second.token).toBeGreaterThan(token);
      expect([one.election.overdue, two.election.overdue]).toEqual([['Office.lead'], []]);
      await two.election.resign();
      await two.elected();
      expect(one.office.terms).toHaveLength(1);
      work.open();
      await waits(key);
      await two.election.resign();
      await one.elected();
    });

    it('B83: shutdown resigns, and withdraws a candidate that waits', async () => {
      const key = context.key();
      const one = await start({ key });
      await one.elected();
      const two = await start({ key });
      const three = await start({ key });
      await waits(key, 2);
      await three.module.close();
      await one.module.close();
      expect(one.office.ends).toMatchObject([{ reason: 'closed' }]);
      expect(one.seen.map(({ type }) => type)).toEqual(['elected', 'revoked']);
      expect(three.seen).toEqual([]);
      await two.elected();
      await two.module.close();
    });

    it('B84: after a crash another candidate leads within the lease of the election', async () => {
      // Another run, in real time, tests it.
      if (context.store.hasSessionsInRealTime === true) return;
      const key = context.key();
      const watchdogTimeout = 2_000;
      const { store, die } = await context.mortalStore();
      const one = await start({ key }, { store, watchdogTimeout, shutdownTimeout: 100 });
      const { token } = await one.elected();
      const two = await start({ key }, { watchdogTimeout });
      await waits(key);
      await die();
      const diedAt = performance.now();
      const second = await two.elected();
      expect(performance.now() - diedAt).toBeLessThan(context.freedAfter(watchdogTimeout) + 1_000);
      expect(one.election.isLeader).toBe(false);
      expect(second.token).toBeGreaterThan(token);
    });
  });
}
