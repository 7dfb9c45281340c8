import { describe, expect, it } from '@jest/globals';
import {
  checkHistory,
  RULES_WITH_FAULTS,
  STRICT_RULES,
  type HistoryEvent,
  type HistoryRules,
} from '../../soak/history-checker.mjs';

type Fields = Readonly<Record<string, unknown>>;

/** Builds a history line by line. */
class History {
  private readonly events: HistoryEvent[] = [];

  add(e: string, t: number, fields: Fields = {}): this {
    this.events.push({ e, t, k: 'k', ...fields });
    return this;
  }

  /** An ordinary hold of process `p`, from `from` to `to`. */
  hold(p: string, i: number, tok: number, from: number, to: number, more: Fields = {}): this {
    const hold = { p, i, tok, ...more };
    return this.add('invoke', from - 1, { w: 1_000, l: 0, ...hold })
      .add('ok', from, { held: true, r: 1_000, ...hold })
      .add('rel', to, { held: true, r: 1_000 - (to - from), ...hold })
      .add('rld', to + 1, { out: 'released', ...hold });
  }

  kinds(rules: HistoryRules = STRICT_RULES): string[] {
    const inOrder = [...this.events].sort((a, b) => a.t - b.t);
    return Object.keys(checkHistory(inOrder, rules).findings.counts);
  }
}

const history = (): History => new History();

/** `b` waits for a lock that is free from 110 on, and holds it at `t`. */
const waitingUntil = (t: number, waitTime = 9_000): History =>
  history()
    .hold('a', 1, 10, 100, 110)
    .add('invoke', 101, { p: 'b', i: 1, w: waitTime, l: 0 })
    .add('queued', 102, { p: 'b' })
    .add('ok', t, { p: 'b', i: 1, tok: 11, held: true, r: 50 })
    .add('abandon', t, { p: 'b', i: 1 });

describe('history checker: holds', () => {
  it('finds nothing in a correct history', () => {
    const good = history()
      .add('start', 0, { p: 'a' })
      .add('start', 0, { p: 'b' })
      .hold('a', 1, 10, 100, 110)
      .add('queued', 105, { p: 'b' })
      .hold('b', 1, 11, 112, 120)
      .hold('a', 2, 12, 130, 140)
      .add('invoke', 131, { p: 'b', i: 2, w: 5, l: 0 })
      .add('fail', 137, { p: 'b', i: 2, c: 'LOCK_TIMEOUT' })
      .add('closed', 150, { p: 'a', took: 5, kept: {} })
      .add('done', 151, { p: 'a' })
      .add('exit', 152, { p: 'a', code: 0 })
      .add('left', 200, { keys: [{ name: 'lock:@:fence', ttl: -1 }] });
    expect(good.kinds()).toEqual([]);
  });

  it('finds two holds at once', () => {
    const twice = history().hold('a', 1, 10, 100, 110).hold('b', 1, 11, 109, 120);
    expect(twice.kinds()).toEqual(['overlap']);
  });

  it('finds an overlap with a hold that lasts far longer than those between them', () => {
    const nested = history().hold('a', 1, 10, 100, 500).hold('b', 1, 11, 110, 120).hold('c', 1, 12, 400, 410);
    expect(nested.kinds()).toEqual(['overlap']);
  });

  it('treats holds of different keys as unrelated', () => {
    expect(history().hold('a', 1, 10, 100, 110).hold('b', 1, 11, 105, 120, { k: 'other' }).kinds()).toEqual(
      [],
    );
  });

  it('counts a hold only for the remaining lease of its last check', () => {
    const silent = (r: number): History =>
      history()
        .add('invoke', 99, { p: 'a', i: 1, w: 1_000, l: 40 })
        .add('ok', 100, { p: 'a', i: 1, tok: 10, held: true, r })
        .add('abandon', 101, { p: 'a', i: 1 })
        .hold('b', 1, 11, 140, 150);
    expect(silent(39).kinds()).toEqual([]);
    expect(silent(41).kinds()).toEqual(['overlap']);
  });

  it('counts a hold no longer after its reported loss', () => {
    const lost = history()
      .add('invoke', 99, { p: 'a', i: 1, w: 1_000, l: 0 })
      .add('ok', 100, { p: 'a', i: 1, tok: 10, held: true, r: 900 })
      .add('lost', 120, { p: 'a', i: 1 })
      .add('rel', 500, { p: 'a', i: 1, tok: 10, held: false, r: 0 })
      .add('rld', 501, { p: 'a', i: 1, out: 'expired' })
      .hold('b', 1, 11, 130, 140);
    expect(lost.kinds()).toEqual([]);
  });

  it('finds a hold that comes back after its loss', () => {
    const revived = history()
      .add('invoke', 99, { p: 'a', i: 1, w: 1_000, l: 0 })
      .add('ok', 100, { p: 'a', i: 1, tok: 10, held: true, r: 10 })
      .add('chk', 120, { p: 'a', i: 1, tok: 10, held: false, r: 0 })
      .add('rel', 130, { p: 'a', i: 1, tok: 10, held: true, r: 900 })
      .add('rld', 131, { p: 'a', i: 1, out: 'released' });
    expect(revived.kinds()).toEqual(expect.arrayContaining(['held-after-loss', 'released-after-loss']));
  });

  it('finds a token that changes during a hold', () => {
    const changed = history()
      .hold('a', 1, 10, 100, 110)
      .add('chk', 105, { p: 'a', i: 1, tok: 11, held: true, r: 900 });
    expect(changed.kinds()).toEqual(['token-changed']);
  });

  it('finds tokens that repeat or fall', () => {
    expect(history().hold('a', 1, 10, 100, 110).hold('b', 1, 10, 120, 130).kinds()).toEqual([
      'token-repeated',
    ]);
    expect(history().hold('a', 1, 10, 100, 110).hold('b', 1, 9, 120, 130).kinds()).toEqual(['token-order']);
  });
});

describe('history checker: forced releases and restarts', () => {
  it('allows overlaps of broken holds, not of later ones', () => {
    const broken = (fence: number): History =>
      history()
        .hold('a', 1, 10, 100, 200)
        .add('doomed', 121, { since: 120, fence })
        .hold('b', 1, 12, 125, 150);
    expect(broken(10).kinds()).toEqual([]);
    expect(broken(9).kinds()).toEqual(['overlap']);
  });

  it('allows hand-overs with a block of tokens that was granted before', () => {
    const handedOn = history()
      .hold('a', 1, 10, 100, 130)
      .add('doomed', 121, { since: 120, fence: 73 })
      .hold('b', 1, 74, 125, 150)
      .hold('a', 2, 11, 131, 140);
    expect(handedOn.kinds()).toEqual([]);
  });

  it('applies a forced release only to its own lock', () => {
    const other = history()
      .hold('a', 1, 10, 100, 200)
      .add('doomed', 121, { since: 120, fence: 10, k: 'other' })
      .hold('b', 1, 12, 125, 150);
    expect(other.kinds()).toEqual(['overlap']);
  });

  it('finds tokens that restart with an empty server', () => {
    const restarted = (tok: number): History =>
      history()
        .hold('a', 1, 1_000, 100, 110)
        .add('doomed', 201, { since: 200, fence: 1_000, k: undefined })
        .add('restarted', 202, { fence: 1_000 })
        .hold('b', 1, tok, 9_000, 9_010);
    expect(restarted(1_001).kinds()).toEqual([]);
    expect(restarted(1).kinds()).toEqual(['token-fell-back']);
  });
});

describe('history checker: outcomes and waits', () => {
  it('finds a call without an outcome, except of a killed process', () => {
    const open = (): History =>
      history().add('start', 0, { p: 'a' }).add('invoke', 10, { p: 'a', i: 1, w: 5, l: 0 });
    expect(open().kinds()).toEqual(['never-answered']);
    expect(open().add('fault', 11, { name: 'process killed', p: 'a' }).kinds()).toEqual([]);
  });

  it('finds a release without an outcome', () => {
    const open = history()
      .add('invoke', 10, { p: 'a', i: 1, w: 5, l: 0 })
      .add('ok', 11, { p: 'a', i: 1, tok: 1, held: true, r: 50 })
      .add('rel', 12, { p: 'a', i: 1, tok: 1, held: true, r: 49 });
    expect(open.kinds()).toEqual(['never-answered']);
  });

  it('finds a second outcome', () => {
    const twice = history().hold('a', 1, 10, 100, 110).add('fail', 105, { p: 'a', i: 1, c: 'LOCK_TIMEOUT' });
    expect(twice.kinds()).toContain('failed-after-grant');
  });

  it('finds unexplained failures', () => {
    const failed = history()
      .add('invoke', 10, { p: 'a', i: 1, w: 500, l: 0 })
      .add('fail', 30, { p: 'a', i: 1, c: 'LOCK_UNAVAILABLE' });
    expect(failed.kinds()).toEqual(['unexpected-failure']);
    expect(failed.kinds(RULES_WITH_FAULTS)).toEqual([]);
  });

  it('finds a wait that ends late, unless the process was stalled', () => {
    const late = (): History =>
      history()
        .add('invoke', 10, { p: 'a', i: 1, w: 50, l: 0 })
        .add('fail', 400, { p: 'a', i: 1, c: 'LOCK_TIMEOUT' });
    expect(late().kinds()).toEqual(['late']);
    expect(late().add('stall', 401, { p: 'a', from: 55 }).kinds()).toEqual([]);
    expect(late().add('stall', 401, { p: 'b', from: 55 }).kinds()).toEqual(['late']);
  });

  it('finds an abort that takes effect late', () => {
    const late = history()
      .add('invoke', 10, { p: 'a', i: 1, w: -1, l: 0 })
      .add('abort', 20, { p: 'a', i: 1 })
      .add('fail', 400, { p: 'a', i: 1, c: 'aborted' });
    expect(late.kinds()).toEqual(['late']);
  });

  it('finds a free lock that is not granted to a waiter', () => {
    expect(waitingUntil(150).kinds()).toEqual([]);
    expect(waitingUntil(2_000).kinds()).toEqual(['left-lying']);
  });

  it('subtracts outages and stalls, and overlapping ones only once', () => {
    const waiting = (): History => waitingUntil(5_000);
    expect(waiting().add('away', 4_000, { from: 200 }).kinds()).toEqual([]);
    expect(waiting().add('away', 3_000, { from: 200 }).kinds()).toEqual(['left-lying']);
    expect(waiting().add('away', 9_000, { from: 4_000 }).kinds()).toEqual(['left-lying']);
    const both = (from: number): History =>
      waiting().add('away', 3_000, { from: 200 }).add('stall', 3_900, { p: 'b', from });
    expect(both(2_900).kinds()).toEqual([]);
    expect(both(3_600).kinds()).toEqual(['left-lying']);
    const overlapping = waiting().add('stall', 3_000, { p: 'a', from: 200 });
    expect(overlapping.add('stall', 3_000, { p: 'b', from: 200 }).kinds()).toEqual(['left-lying']);
  });

  it('does not count the time that dead processes had left when a new leader started it again', () => {
    const freedAt = (t: number, ...outages: readonly [from: number, to: number][]): History => {
      const waiting = waitingUntil(t, -1);
      for (const [from, to] of outages) waiting.add('away', to, { from });
      return waiting;
    };
    const { afterCrash, idleness } = RULES_WITH_FAULTS;
    expect(freedAt(15_000).kinds(RULES_WITH_FAULTS)).toEqual(['left-lying']);
    const elections = [2_900, 5_800, 8_700, 11_600].map((from): [number, number] => [from, from + 100]);
    expect(freedAt(15_000, ...elections).kinds(RULES_WITH_FAULTS)).toEqual([]);
    // After the last election it has to be freed in time, and an election explains no more than the lease before it.
    expect(freedAt(11_700 + idleness + 1, ...elections).kinds(RULES_WITH_FAULTS)).toEqual(['left-lying']);
    const late: [number, number] = [idleness + afterCrash + 200, idleness + afterCrash + 201];
    expect(freedAt(late[1], late).kinds(RULES_WITH_FAULTS)).toEqual(['left-lying']);
  });

  it('finds a waiter that times out on a free lock', () => {
    const inVain = history()
      .hold('a', 1, 10, 100, 110)
      .add('invoke', 101, { p: 'b', i: 1, w: 3_000, l: 0 })
      .add('queued', 102, { p: 'b' })
      .add('fail', 3_102, { p: 'b', i: 1, c: 'LOCK_TIMEOUT' });
    expect(inVain.kinds()).toEqual(['free-in-vain']);
  });

  it('P20: finds a process that is overtaken by more than one budget', () => {
    const overtaken = (times: number, f?: number): History => {
      const waiting = history()
        .add('invoke', 10, { p: 'b', i: 1, w: -1, l: 0, f })
        .add('queued', 11, { p: 'b' });
      for (let i = 1; i <= times; i++) waiting.hold('a', i, i, 20 + i, 20.5 + i, { f });
      return waiting
        .add('ok', 900, { p: 'b', i: 1, tok: 1_000, held: true, r: 50, f })
        .add('abandon', 900, { p: 'b', i: 1 });
    };
    expect(overtaken(130).kinds()).toEqual([]);
    expect(overtaken(140).kinds()).toEqual(['overtaken']);
    expect(overtaken(2, 1).kinds()).toEqual([]);
    expect(overtaken(5, 1).kinds()).toEqual(['overtaken']);
  });

  it('P20: ignores overtaking close to a fault', () => {
    const near = (fault: number): History => {
      const waiting = history()
        .add('fault', fault, { name: 'connections cut', p: 'b' })
        .add('invoke', 5_010, { p: 'b', i: 1, w: 800, l: 0 })
        .add('queued', 5_011, { p: 'b' });
      for (let i = 1; i <= 200; i++) waiting.hold('a', i, i, 5_020 + i, 5_020.5 + i);
      return waiting.add('fail', 5_810, { p: 'b', i: 1, c: 'LOCK_TIMEOUT' });
    };
    expect(near(500).kinds(RULES_WITH_FAULTS)).toEqual(['overtaken']);
    expect(near(4_900).kinds(RULES_WITH_FAULTS)).toEqual([]);
  });

  it('P20: ignores overtaking while the store was too slow for the leaseTime of a caller, whose grants cost turns', () => {
    const slow = history()
      .add('invoke', 10, { p: 'b', i: 1, w: -1, l: 40, f: 1 })
      .add('invoke', 10, { p: 'b', i: 2, w: -1, l: 0, f: 1 })
      .add('queued', 11, { p: 'b' });
    for (let i = 1; i <= 5; i++) slow.hold('a', i, i, 20 + i, 20.5 + i, { f: 1 });
    slow
      .add('fail', 30, { p: 'b', i: 1, c: 'LOCK_UNAVAILABLE' })
      .add('ok', 900, { p: 'b', i: 2, tok: 1_000, held: true, r: 50, f: 1 })
      .add('abandon', 900, { p: 'b', i: 2 });
    expect(slow.kinds(RULES_WITH_FAULTS)).toEqual([]);
  });

  it('P20: finds a process that is overtaken until it times out', () => {
    const starved = history().add('invoke', 10, { p: 'b', i: 1, w: 800, l: 0 }).add('queued', 11, { p: 'b' });
    for (let i = 1; i <= 200; i++) starved.hold('a', i, i, 20 + i, 20.5 + i);
    expect(starved.add('fail', 810, { p: 'b', i: 1, c: 'LOCK_TIMEOUT' }).kinds()).toEqual(['overtaken']);
  });
});

describe('history checker: witnesses and processes', () => {
  it('finds a write that was rejected although the lock was certainly held', () => {
    const refused = (t: number): History =>
      history().hold('a', 1, 10, 100, 110).add('write', t, { p: 'a', i: 1, tok: 10, taken: false });
    expect(refused(105).kinds()).toEqual(['holder-refused']);
    expect(refused(115).kinds()).toEqual([]);
  });

  it('finds a stale write that was accepted', () => {
    const stale = history()
      .add('write', 10, { p: 'a', i: 1, tok: 10, taken: true })
      .add('write', 11, { p: 'b', i: 1, tok: 9, taken: true });
    expect(stale.kinds()).toEqual(['stale-write']);
  });

  it('finds two holders inside the critical section', () => {
    expect(history().add('witness', 10, { p: 'a', i: 1, tok: 1, held: true }).kinds()).toEqual([
      'two-inside',
    ]);
  });

  it('finds leftovers in the store', () => {
    const left = (name: string, ttl: number): string[] =>
      history()
        .add('left', 10, { keys: [{ name, ttl }] })
        .kinds();
    expect(left('lock:@:fence', -1)).toEqual([]);
    expect(left('lock:@:gone:{lock:k}:a:1', 50_000)).toEqual([]);
    expect(left('lock:@:gone:{lock:k}:a:1', -1)).toEqual(['left-behind']);
    expect(left('lock:k', 900)).toEqual(['left-behind']);
  });

  it.each(['unhandled', 'uncaught', 'warning', 'logged'])(
    'finds a process with a record of kind "%s"',
    (e) => {
      expect(history().add(e, 10, { p: 'a', m: 'it' }).kinds()).toEqual([e]);
    },
  );

  it('finds processes that end badly', () => {
    const started = (): History => history().add('start', 1, { p: 'a' });
    const closed = { p: 'a', took: 1, kept: {} };
    expect(started().add('exit', 2, { p: 'a', code: 1 }).kinds()).toEqual(['crash']);
    expect(
      started().add('stuck', 2, { p: 'a' }).add('exit', 3, { p: 'a', signal: 'SIGKILL' }).kinds(),
    ).toEqual(['stuck']);
    expect(
      started()
        .add('closed', 2, { ...closed, took: 60_000 })
        .kinds(),
    ).toEqual(['slow-close']);
    expect(
      started()
        .add('closed', 2, { ...closed, kept: { leases: 1 } })
        .kinds(),
    ).toEqual(['kept-after-close']);
    const lingering = started().add('closed', 2, closed).add('done', 3, { p: 'a' });
    expect(lingering.add('exit', 9_000, { p: 'a', code: 0 }).kinds()).toEqual(['slow-exit']);
  });
});
