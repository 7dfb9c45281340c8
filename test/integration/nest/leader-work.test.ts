import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { skip } from 'rxjs';
import { LockHealthIndicator } from '../../../lib/health/index.js';
import { DistributedLockModule, LockAdmin, LockService } from '../../../lib/index.js';
import {
  InjectLeaderElection,
  LeaderElection,
  LeaderElectionModule,
  OnElected,
  OnRevoked,
  type LeaderElectionOptions,
  type Leadership,
  type LeadershipEvent,
} from '../../../lib/leader/index.js';
import { Endings } from '../../support/endings.js';
import { LogRecorder } from '../../support/lock-app.js';
import { TestLockStore } from '../../../lib/testing/index.js';
import { blockEventLoop, gate, rejectionOf, until, within } from '../../support/until.js';

/** What each method does in a test. */
@Injectable()
class Office {
  readonly begun: string[] = [];
  onElected: (leadership: Leadership) => unknown = () => undefined;
  onRevoked: () => unknown = () => undefined;

  constructor(@InjectLeaderElection('office') readonly election: LeaderElection) {}

  @OnElected('office')
  async lead(leadership: Leadership): Promise<void> {
    this.begun.push('elected');
    await this.onElected(leadership);
  }

  @OnRevoked('office')
  async leave(): Promise<void> {
    this.begun.push('revoked');
    await this.onRevoked();
  }
}

describe('the work of a leader', () => {
  const endings = new Endings();
  const log = new LogRecorder();

  /** A process with the work of its leader; processes of one test share a store. */
  const start = async (
    store: TestLockStore,
    work: Partial<Pick<Office, 'onElected' | 'onRevoked'>> = {},
    options: LeaderElectionOptions = { stopTimeout: 3_000 },
    watchdogTimeout = 30_000,
  ): Promise<Office & { readonly module: TestingModule }> => {
    log.lines.length = 0;
    const module = await Test.createTestingModule({
      imports: [
        DistributedLockModule.forRoot({ store, shutdownTimeout: 500, watchdogTimeout }),
        LeaderElectionModule.forFeature('office', options),
      ],
      providers: [Office],
    })
      .setLogger(log)
      .compile();
    endings.app(module);
    Object.assign(module.get(Office), work);
    await module.init();
    return Object.assign(module.get(Office), { module });
  };
  const elected = ({ election }: Office): Promise<Leadership> => until('it leads', () => election.leadership);
  const hang = (): Promise<never> => new Promise(() => undefined);
  const held = (module: TestingModule) => module.get(LockService).isLocked('leader:office');

  const ends: Record<string, (office: Office & { readonly module: TestingModule }) => unknown> = {
    'a resignation': ({ election }) => void election.resign(),
    'a method that throws': ({ election }) => {
      election.handle('elected', () => {
        throw new Error('out of order');
      });
    },
    'a method under @OnRevoked that hangs, too': (office) => {
      office.onRevoked = hang;
      void office.election.resign();
    },
  };
  it.each(Object.entries(ends))(
    'F73: after %s, a method that never ends is named in the log, and loses the lock at the limit',
    async (_, end) => {
      const store = new TestLockStore();
      const one = await start(store, { onElected: hang });
      await elected(one);
      const indicator = new LockHealthIndicator(one.module.get(LockAdmin));
      const reasons = async (): Promise<readonly string[]> =>
        (await indicator.isHealthy('locks', { elections: [one.election] })).locks.reasons;
      expect(await reasons()).toEqual([]);
      const endedAt = performance.now();
      end(one);
      await until('it is logged', () => log.matching('methods still run: Office.lead').length > 0);
      expect(log.lines).toContainEqual({
        level: 'warn',
        message: expect.stringMatching(
          /^The leadership of "office" has ended \((resigned|failed)\), but methods still run: Office\.lead(, Office\.leave)?\. No other process can lead meanwhile, for at most another 1\.0 s\. Let methods return when their signal is aborted\.$/,
        ),
      });
      expect(performance.now() - endedAt).toBeLessThan(5_000);
      expect(await held(one.module)).toBe(true);
      expect(await reasons()).toContainEqual(
        expect.stringMatching(
          /^the leadership of "office" has ended, but methods still run: Office\.lead(, Office\.leave)?$/,
        ),
      );
      await until('the lock goes', async () => !(await held(one.module)));
      expect(log.matching('The lock is released, so another process can lead meanwhile.')).toHaveLength(1);
      await within(1_000, 'a resignation of nothing', one.election.resign());
      const two = await start(store);
      await elected(two);
      expect([one.begun.filter((each) => each === 'elected'), two.begun]).toEqual([['elected'], ['elected']]);
    },
  );

  it('F73: after a loss, a method that never ends is named, and is not called a second time', async () => {
    const store = new TestLockStore();
    const work = gate();
    const one = await start(store, { onElected: () => work.closed }, { stopTimeout: 100 });
    await elected(one);
    await one.module.get(LockAdmin).forceRelease('leader:office');
    await until(
      'it is logged',
      () => log.matching('ended 100 ms ago, but methods still run: Office.lead. This').length > 0,
    );
    expect(one.election.overdue).toEqual(['Office.lead']);
    expect(one.begun).toEqual(['elected', 'revoked']);
    work.open();
    await elected(one);
    expect(one.election.overdue).toEqual([]);
  });

  it('F73: the limit is shutdownTimeout unless it is set', async () => {
    const one = await start(new TestLockStore(), { onElected: hang }, {});
    await elected(one);
    await within(2_000, 'the resignation', one.election.resign());
    expect(await held(one.module)).toBe(false);
  });

  it('F73: shutdown waits for the limit, and releases the lock', async () => {
    const store = new TestLockStore();
    const one = await start(store, { onElected: hang }, { stopTimeout: 300 });
    await elected(one);
    const two = await start(store);
    const began = performance.now();
    await one.module.close();
    expect(performance.now() - began).toBeGreaterThan(290);
    await elected(two);
    expect(two.begun).toEqual(['elected']);
  });

  it('F73: a method that awaits resign() gets an error, and ends its leadership', async () => {
    const outcome = gate();
    let error: unknown;
    const one = await start(new TestLockStore());
    await elected(one);
    one.onElected = async () => {
      if (error !== undefined) return;
      error = await rejectionOf(one.election.resign());
      outcome.open();
    };
    await one.election.resign();
    await within(10_000, 'the error', outcome.closed);
    expect(error).toMatchObject({
      code: 'LOCK_OPTIONS',
      message: expect.stringContaining('so none of them can await it. Call it without await, and return.'),
    });
    await elected(one);
  });

  it('F73: a method may call resign() and return, and what it has started may await that', async () => {
    const one = await start(new TestLockStore());
    const resigned: Promise<void>[] = [];
    await elected(one);
    one.onElected = ({ signal }) => {
      if (resigned.length > 0) return undefined;
      resigned.push(one.election.resign());
      expect(signal.aborted).toBe(true);
      return undefined;
    };
    await one.election.resign();
    await until('it resigns', () => resigned.length > 0);
    await within(1_000, 'the resignation', Promise.all(resigned));
    await elected(one);
  });

  it('F73: nothing begins for a candidate that is elected while it is stopped', async () => {
    const store = new TestLockStore();
    const one = await start(store);
    const two = await start(store);
    await until(
      'one waits',
      async () => (await two.module.get(LockAdmin).inspect('leader:office'))?.waiting === 1,
    );
    log.lines.length = 0;
    const [leader, candidate] = one.election.isLeader ? [one, two] : [two, one];
    const seen: LeadershipEvent[] = [];
    candidate.election.leadership$.subscribe((event) => seen.push(event));
    const resigned = leader.election.resign();
    // In the microtask in which the candidate gets its lock, whichever that is.
    let stopped: Promise<void> | undefined;
    for (let turn = 0; turn < 200 && stopped === undefined; turn += 1) {
      if (candidate.module.get(LockAdmin).held().length > 0) stopped = candidate.election.stop();
      await Promise.resolve();
    }
    await (stopped ?? candidate.election.stop());
    await resigned;
    expect(stopped).toBeDefined();
    candidate.election.start();
    const { token } = await elected(leader);
    expect([candidate.begun, seen]).toEqual([[], []]);
    expect(log.matching('is the leader of')).toEqual([expect.stringContaining(String(token))]);
  });

  it('F73: a subscriber that stops the election at its beginning lets nothing begin', async () => {
    const one = await start(new TestLockStore());
    await elected(one);
    const subscription = one.election.leadership$.pipe(skip(1)).subscribe(({ type }) => {
      if (type === 'elected') void one.election.stop();
    });
    one.begun.length = 0;
    await one.election.resign();
    await until('it has stopped', () => subscription.closed);
    expect(one.begun).toEqual(['revoked']);
  });

  it('F73: the signal of a leadership is as current as isLeader after a blocked event loop', async () => {
    const one = await start(new TestLockStore(), {}, { watchdogTimeout: 300 });
    const leadership = await elected(one);
    const { signal } = leadership;
    blockEventLoop(400);
    expect([signal.aborted, leadership.isLeader]).toEqual([true, false]);
    expect(signal.reason).toMatchObject({ code: 'LOCK_LOST', reason: 'expired' });
  });

  it('F73: the signal of a hold that was read before is as current as isHeld', async () => {
    const one = await start(new TestLockStore(), {}, {}, 300);
    for (const key of ['key', ['one', 'two']]) {
      const { signal } = await one.module.get(LockService).acquire(key);
      const held = await one.module.get(LockService).acquire('other');
      const other = held.signal;
      const both = AbortSignal.any([other, new AbortController().signal]);
      const heard = once(signal, 'abort');
      expect([signal.aborted, both.aborted, signal.reason]).toEqual([false, false, undefined]);
      signal.throwIfAborted();
      blockEventLoop(400);
      expect(() => signal.throwIfAborted()).toThrow('was lost');
      await heard;
      expect([other.reason, held.isHeld]).toEqual([expect.objectContaining({ code: 'LOCK_LOST' }), false]);
      expect([both.aborted, AbortSignal.any([other]).aborted]).toEqual([true, true]);
      const fetched = await rejectionOf(fetch('http://127.0.0.1:1', { signal }));
      expect(fetched).toBe(signal.reason);
    }
  });
});
