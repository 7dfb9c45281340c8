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

  /** A call of `b` that queues at `t`. */
  waits(t: number, fields: Fields): this {
    return this.add('invoke', t, { p: 'b', i: 1, l: 0, ...fields }).add('queued', t + 1, { p: 'b' });
  }

  kinds(rules: HistoryRules): string[] {
    const inOrder = [...this.events].sort((a, b) => a.t - b.t);
    return Object.keys(checkHistory(inOrder, rules).findings.counts);
  }
}

const history = (): History => new History();
const oneHold = (to = 110): History => history().hold('a', 1, 10, 100, to);
/** A hold of `a` whose end is not recorded. */
const begun = (r: number): History =>
  history()
    .add('invoke', 99, { p: 'a', i: 1, w: 1_000, l: 0 })
    .add('ok', 100, { p: 'a', i: 1, tok: 10, held: true, r });
const started = (): History => history().add('start', 0, { p: 'a' });
const TIMEOUT = { i: 1, c: 'LOCK_TIMEOUT' };

/** `b` waits for a lock that is free from 110 on, and holds it at `t`. */
const waitingUntil = (t: number, waitTime = 9_000): History =>
  oneHold()
    .waits(101, { w: waitTime })
    .add('ok', t, { p: 'b', i: 1, tok: 11, held: true, r: 50 })
    .add('abandon', t, { p: 'b', i: 1 });

/** Other holds of `a` one after the other, while `b` waits. */
const overtaken = (times: number, waits: Fields = { w: -1 }): History => {
  const all = history().waits(10, waits);
  for (let i = 1; i <= times; i++) all.hold('a', i, i, 20 + i, 20.5 + i, { f: waits['f'] });
  return all;
};
const atLast = (all: History, fields: Fields = {}): History =>
  all
    .add('ok', 900, { p: 'b', i: 1, tok: 1_000, held: true, r: 50, ...fields })
    .add('abandon', 900, { p: 'b', i: 1, ...fields });

type Case = readonly [what: string, of: History, kinds: readonly string[], rules?: HistoryRules];

/** Histories, and what the checker finds in each. */
function finds(...cases: readonly Case[]): void {
  it.each(cases)('%s', (_, of, kinds, rules = STRICT_RULES) => {
    expect(of.kinds(rules)).toEqual(kinds);
  });
}

describe('history checker: holds', () => {
  const good = started()
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
  const silent = (r: number): History =>
    begun(r).add('abandon', 101, { p: 'a', i: 1 }).hold('b', 1, 11, 140, 150);
  const lost = begun(900)
    .add('lost', 120, { p: 'a', i: 1 })
    .add('rel', 500, { p: 'a', i: 1, tok: 10, held: false, r: 0 })
    .add('rld', 501, { p: 'a', i: 1, out: 'expired' });
  const revived = begun(10)
    .add('chk', 120, { p: 'a', i: 1, tok: 10, held: false, r: 0 })
    .add('rel', 130, { p: 'a', i: 1, tok: 10, held: true, r: 900 })
    .add('rld', 131, { p: 'a', i: 1, out: 'released' });
  finds(
    ['a correct history', good, []],
    ['two holds at once', oneHold().hold('b', 1, 11, 109, 120), ['overlap']],
    [
      'an overlap with a hold that lasts far longer than those between them',
      oneHold(500).hold('b', 1, 11, 110, 120).hold('c', 1, 12, 400, 410),
      ['overlap'],
    ],
    ['holds of different keys', oneHold().hold('b', 1, 11, 105, 120, { k: 'other' }), []],
    ['a hold after the remaining lease of the last check', silent(39), []],
    ['a hold within the remaining lease of the last check', silent(41), ['overlap']],
    ['a hold after the reported loss of the last one', lost.hold('b', 1, 11, 130, 140), []],
    ['a hold that comes back after its loss', revived, ['held-after-loss', 'released-after-loss']],
    [
      'a token that changes during a hold',
      oneHold().add('chk', 105, { p: 'a', i: 1, tok: 11, held: true, r: 900 }),
      ['token-changed'],
    ],
    ['a token that repeats', oneHold().hold('b', 1, 10, 120, 130), ['token-repeated']],
    ['a token that falls', oneHold().hold('b', 1, 9, 120, 130), ['token-order']],
  );
});

describe('history checker: locks that several may hold', () => {
  const permits = (count: number): Fields => ({ kind: 'permits', permits: count, limit: 3 });
  const [reader, writer] = [{ kind: 'reader' }, { kind: 'writer' }];
  const reading = (): History =>
    history().hold('a', 1, 10, 100, 150, reader).hold('b', 1, 9, 110, 160, reader);
  const two = (): History =>
    history().hold('a', 1, 11, 100, 150, permits(1)).hold('b', 1, 10, 110, 140, permits(1));
  finds(
    ['as many permits as there are', two().hold('c', 1, 12, 120, 130, permits(1)), []],
    ['a permit too many', two().hold('c', 1, 12, 120, 130, permits(2)), ['overlap']],
    ['a permit that was returned', two().hold('c', 1, 12, 141, 160, permits(2)), []],
    ['readers at once', reading(), []],
    ['a reader beside a writer', reading().hold('c', 1, 12, 155, 170, writer), ['overlap']],
    ['a writer after readers', reading().hold('c', 1, 12, 161, 170, writer), []],
    [
      'a writer with a smaller token than a reader',
      reading().hold('c', 1, 8, 161, 170, writer),
      ['token-order'],
    ],
    ['a writer with the token of a reader', reading().hold('c', 1, 9, 161, 170, writer), ['token-repeated']],
    [
      'a reader with a smaller token than a writer',
      history().hold('a', 1, 10, 100, 110, writer).hold('b', 1, 9, 120, 130, reader),
      ['token-order'],
    ],
  );
});

describe('history checker: forced releases and restarts', () => {
  const broken = (doomed: Fields): History =>
    oneHold(200)
      .add('doomed', 121, { since: 120, ...doomed })
      .hold('b', 1, 12, 125, 150);
  const handedOn = oneHold(130)
    .add('doomed', 121, { since: 120, fence: 73 })
    .hold('b', 1, 74, 125, 150)
    .hold('a', 2, 11, 131, 140);
  const restarted = (tok: number): History =>
    history()
      .hold('a', 1, 1_000, 100, 110)
      .add('doomed', 201, { since: 200, fence: 1_000, k: undefined })
      .add('restarted', 202, { fence: 1_000 })
      .hold('b', 1, tok, 9_000, 9_010);
  finds(
    ['an overlap with a broken hold', broken({ fence: 10 }), []],
    ['an overlap with a later hold than the broken one', broken({ fence: 9 }), ['overlap']],
    ['an overlap while another lock is broken', broken({ fence: 10, k: 'other' }), ['overlap']],
    ['a hand-over with a block of tokens that was granted before', handedOn, []],
    ['tokens that grow when the server is empty', restarted(1_001), []],
    ['tokens that restart when the server is empty', restarted(1), ['token-fell-back']],
  );
});

describe('history checker: outcomes and waits', () => {
  const open = (): History => started().add('invoke', 10, { p: 'a', i: 1, w: 5, l: 0 });
  const failed = history()
    .add('invoke', 10, { p: 'a', i: 1, w: 500, l: 0 })
    .add('fail', 30, { p: 'a', i: 1, c: 'LOCK_UNAVAILABLE' });
  const late = (): History =>
    history()
      .add('invoke', 10, { p: 'a', i: 1, w: 50, l: 0 })
      .add('fail', 400, { p: 'a', ...TIMEOUT });
  const lateAbort = history()
    .add('invoke', 10, { p: 'a', i: 1, w: -1, l: 0 })
    .add('abort', 20, { p: 'a', i: 1 })
    .add('fail', 400, { p: 'a', i: 1, c: 'aborted' });
  const away = (t: number, from: number): History => waitingUntil(5_000).add('away', t, { from });
  const inVain = oneHold()
    .waits(101, { w: 3_000 })
    .add('fail', 3_102, { p: 'b', ...TIMEOUT });
  finds(
    ['a call without an outcome', open(), ['never-answered']],
    ['that of a killed process', open().add('fault', 11, { name: 'process killed', p: 'a' }), []],
    [
      'a release without an outcome',
      begun(50).add('rel', 112, { p: 'a', i: 1, tok: 10, held: true, r: 38 }),
      ['never-answered'],
    ],
    ['a second outcome', oneHold().add('fail', 105, { p: 'a', ...TIMEOUT }), ['failed-after-grant']],
    ['an unexplained failure', failed, ['unexpected-failure']],
    ['the same with faults', failed, [], RULES_WITH_FAULTS],
    ['a wait that ends late', late(), ['late']],
    ['that of a process that was stalled', late().add('stall', 401, { p: 'a', from: 55 }), []],
    ['that beside a process that was stalled', late().add('stall', 401, { p: 'b', from: 55 }), ['late']],
    ['an abort that takes effect late', lateAbort, ['late']],
    ['a lock that a waiter is granted soon', waitingUntil(150), []],
    ['a free lock that is not granted to a waiter', waitingUntil(2_000), ['left-lying']],
    ['that after an outage', away(4_000, 200), []],
    ['that long after an outage', away(3_000, 200), ['left-lying']],
    ['that before an outage', away(9_000, 4_000), ['left-lying']],
    ['that after an outage and a stall', away(3_000, 200).add('stall', 3_900, { p: 'b', from: 2_900 }), []],
    [
      'that after an outage and a stall that overlap',
      away(3_000, 200).add('stall', 3_900, { p: 'b', from: 3_600 }),
      ['left-lying'],
    ],
    [
      'that after two stalls that overlap',
      waitingUntil(5_000)
        .add('stall', 3_000, { p: 'a', from: 200 })
        .add('stall', 3_000, { p: 'b', from: 200 }),
      ['left-lying'],
    ],
    ['a waiter that times out on a free lock', inVain, ['free-in-vain']],
  );

  it('does not count the time that dead processes had left when a new leader started it again', () => {
    const freedAt = (t: number, ...outages: readonly [from: number, to: number][]): string[] => {
      const waiting = waitingUntil(t, -1);
      for (const [from, to] of outages) waiting.add('away', to, { from });
      return waiting.kinds(RULES_WITH_FAULTS);
    };
    const { afterCrash, idleness } = RULES_WITH_FAULTS;
    expect(freedAt(15_000)).toEqual(['left-lying']);
    const elections = [2_900, 5_800, 8_700, 11_600].map((from): [number, number] => [from, from + 100]);
    expect(freedAt(15_000, ...elections)).toEqual([]);
    // After the last election it has to be freed in time, and an election explains no more than the lease before it.
    expect(freedAt(11_700 + idleness + 1, ...elections)).toEqual(['left-lying']);
    const late: [number, number] = [idleness + afterCrash + 200, idleness + afterCrash + 201];
    expect(freedAt(late[1], late)).toEqual(['left-lying']);
  });
});

describe('history checker: a process that is overtaken (P20)', () => {
  const inStrictOrder = { w: -1, f: 1 };
  const timedOut = (fault: number): History =>
    overtaken(200, { w: 800 })
      .add('fault', fault, { name: 'connections cut', p: 'b' })
      .add('fail', 810, { p: 'b', ...TIMEOUT });
  /** The grants of another caller cost turns. */
  const tooSlow = overtaken(5, inStrictOrder)
    .add('invoke', 10, { p: 'b', i: 2, w: -1, l: 40, f: 1 })
    .add('fail', 30, { p: 'b', i: 2, c: 'LOCK_UNAVAILABLE' });
  finds(
    ['by one turn', atLast(overtaken(130)), []],
    ['by more than one turn', atLast(overtaken(140)), ['overtaken']],
    ['in strict order by two', atLast(overtaken(2, inStrictOrder), { f: 1 }), []],
    ['in strict order by five', atLast(overtaken(5, inStrictOrder), { f: 1 }), ['overtaken']],
    [
      'in strict order, by a store too slow for a leaseTime',
      atLast(tooSlow, { f: 1 }),
      [],
      RULES_WITH_FAULTS,
    ],
    ['until it times out, long after a fault', timedOut(-4_500), ['overtaken'], RULES_WITH_FAULTS],
    ['until it times out, close to a fault', timedOut(-100), [], RULES_WITH_FAULTS],
  );
});

describe('history checker: witnesses and processes', () => {
  const refused = (t: number): History => oneHold().add('write', t, { p: 'a', i: 1, tok: 10, taken: false });
  const stale = history()
    .add('write', 10, { p: 'a', i: 1, tok: 10, taken: true })
    .add('write', 11, { p: 'b', i: 1, tok: 9, taken: true });
  const left = (name: string, ttl: number): History => history().add('left', 10, { keys: [{ name, ttl }] });
  const closed = (took: number, kept: Fields): History => started().add('closed', 2, { p: 'a', took, kept });
  const stuck = started().add('stuck', 2, { p: 'a' }).add('exit', 3, { p: 'a', signal: 'SIGKILL' });
  const lingering = closed(1, {}).add('done', 3, { p: 'a' }).add('exit', 9_000, { p: 'a', code: 0 });
  finds(
    ['a rejected write while the lock was certainly held', refused(105), ['holder-refused']],
    ['a rejected write after the hold', refused(115), []],
    ['a stale write that was accepted', stale, ['stale-write']],
    [
      'two holders inside',
      history().add('witness', 10, { p: 'a', i: 1, tok: 1, held: true }),
      ['two-inside'],
    ],
    ['the counter of tokens in the store', left('lock:@:fence', -1), []],
    ['the counter of a slot in a Cluster', left('lock:@:fence:{69381}', -1), []],
    ['a tombstone in the store', left('lock:@:gone:{lock:k}:a:1', 50_000), []],
    ['a tombstone without an end', left('lock:@:gone:{lock:k}:a:1', -1), ['left-behind']],
    ['a lock that is left in the store', left('lock:k', 900), ['left-behind']],
    ...['unhandled', 'uncaught', 'warning', 'logged'].map((e): Case => [
      `a process with a record of kind "${e}"`,
      history().add(e, 10, { p: 'a', m: 'it' }),
      [e],
    ]),
    ['a crash', started().add('exit', 2, { p: 'a', code: 1 }), ['crash']],
    ['a process that had to be killed', stuck, ['stuck']],
    ['a slow shutdown', closed(60_000, {}), ['slow-close']],
    ['something kept after shutdown', closed(1, { leases: 1 }), ['kept-after-close']],
    ['a process that does not end', lingering, ['slow-exit']],
  );
});
