import { describe, expect, it } from '@jest/globals';
import { checkElection, type ElectionRules } from '../../soak/leader-checker.mjs';
import { RULES_WITH_FAULTS, type HistoryEvent } from '../../soak/history-checker.mjs';

type Fields = Readonly<Record<string, unknown>>;

const RULES: ElectionRules = { ...RULES_WITH_FAULTS, takeover: 2_500, handOver: 1_000, settle: 4_000 };

/** Builds the history of an election of `a`, `b` and `c`, who are candidates from 0 on. */
class Election {
  private readonly events: HistoryEvent[] = [];

  constructor() {
    for (const p of ['a', 'b', 'c']) this.add('candidate', 0, { p });
  }

  add(e: string, t: number, fields: Fields = {}): this {
    this.events.push({ e, t, ...fields });
    return this;
  }

  /** `p` believes from `from` to `to` that it leads. */
  leads(p: string, tok: number, from: number, to: number): this {
    return this.add('leads', from, { p, tok, b: from - 1 }).add('leads', to + 1, { p, tok, b: to });
  }

  resigns(p: string, tok: number, at: number, workEndsAt = at + 10): this {
    return this.add('leaves', at, { p, tok })
      .add('revoked', at + 1, { p, tok, reason: 'resigned' })
      .add('work-ended', workEndsAt, { p, tok });
  }

  fault(name: string, at: number, fields: Fields): this {
    return this.add('fault', at, { name, ...fields });
  }

  verdict(): { kinds: string[]; figures: Fields } {
    const inOrder = [...this.add('ending', 100_000).events].sort((one, other) => one.t - other.t);
    const { findings, figures } = checkElection(inOrder, RULES);
    return { kinds: Object.keys(findings.counts), figures };
  }
}

const election = (): Election => new Election();
const lastsToTheEnd = 99_990;

describe('leader checker', () => {
  it('finds nothing in a correct history, and measures takeovers', () => {
    const good = election()
      .leads('a', 10, 5_000, 10_000)
      .fault('process killed', 10_001, { p: 'a' })
      .leads('b', 20, 11_600, 30_000)
      .resigns('b', 20, 30_000)
      .leads('c', 30, 30_040, lastsToTheEnd);
    expect(good.verdict()).toMatchObject({
      kinds: [],
      figures: {
        terms: 3,
        takeovers: { crash: { count: 1, longest: 1_600 }, handOver: { count: 1, longest: 40 }, notJudged: 0 },
      },
    });
  });

  const led = (): Election => election().leads('a', 10, 5_000, 10_000);
  const killed = (): Election => led().fault('process killed', 10_001, { p: 'a' });
  const resigned = (workEndsAt?: number): Election => led().resigns('a', 10, 10_000, workEndsAt);
  const next = (before: Election, from: number): Election => before.leads('b', 20, from, lastsToTheEnd);
  /** Begun at `b`, and ended at `t`, after the clock was read. */
  const lastReading = (b: number, t: number): Election =>
    next(led().add('leads', t, { p: 'a', tok: 10, b }), 11_600);
  const deposed = (fence: number): Election =>
    next(led().add('doomed', 9_600, { since: 9_500, k: 'k0', fence }), 9_550);
  const afterStall = (p: string): Election =>
    next(killed().add('stall', 12_400, { p, from: 11_400 }), 12_501);
  const tokens = (one: number, other: number): Election =>
    election().leads('a', one, 1, 2_000).leads('b', other, 2_100, lastsToTheEnd);
  const revoked = led().add('revoked', 9_000, { p: 'a', tok: 10, reason: 'expired' });
  const longAfterFault = election().fault('process stopped', 4_000, { p: 'b', ms: 1_900 });

  it.each<[what: string, of: Election, kinds: readonly string[]]>([
    ['B80: two processes that believe it at the same moment', next(led(), 9_999), ['overlap']],
    ['B80: a process that was stopped within a reading', lastReading(10_005, 14_000), []],
    ['B80: a process that believes it in good faith', lastReading(14_000, 14_001), ['overlap']],
    ['a leader that was deposed from outside', deposed(10), []],
    ['a leader whose predecessor was deposed from outside', deposed(9), ['overlap']],
    ['a token that falls', tokens(10, 9), ['token-order']],
    ['a token that repeats', tokens(10, 10), ['token-repeated']],
    ['a leader that believes it after its revocation', next(revoked, 10_001), ['leads-after-revocation']],
    ['B84: a takeover after a crash', next(killed(), 12_499), []],
    ['B84: a takeover after a crash that is too late', next(killed(), 12_501), ['late-takeover']],
    ['B84: a takeover after a crash that never comes', killed(), ['late-takeover']],
    ['B84: a takeover by a process that was blocked', afterStall('b'), []],
    ['B84: a takeover beside a process that was blocked', afterStall('a'), ['late-takeover']],
    ['B82, B83: a hand-over after a resignation', next(resigned(), 10_999), []],
    ['B82, B83: a hand-over that is too late', next(resigned(), 11_001), ['late-hand-over']],
    ['B82: a leader after the work of the last one', next(resigned(10_049), 10_050), []],
    ['B82: a leader before the end of that work', next(resigned(10_051), 10_050), ['work-overlap']],
    [
      'a late takeover long after other faults',
      longAfterFault.leads('a', 10, 5_000, 10_000).leads('b', 20, 15_000, lastsToTheEnd),
      ['late-takeover'],
    ],
    [
      'a crash, as in other runs',
      election().add('start', 0, { p: 'a' }).add('exit', 10, { p: 'a', code: 1 }),
      ['crash'],
    ],
  ])('%s', (_, of, kinds) => {
    expect(of.verdict().kinds).toEqual(kinds);
  });

  it.each([
    ['another process has a fault', (late: Election) => late.fault('process stopped', 9_000, { p: 'b' })],
    ['the server has a fault', (late: Election) => late.fault('server stopped', 10_500, { ms: 2_000 })],
    ['the servers were unavailable', (late: Election) => late.add('away', 11_000, { from: 10_100 })],
    [
      'nobody else waits',
      (late: Election) => late.add('closing', 9_000, { p: 'b' }).add('exit', 9_000, { p: 'c' }),
    ],
  ])('does not judge a takeover while %s', (_, disturb) => {
    expect(disturb(next(led(), 15_000)).verdict()).toMatchObject({
      kinds: [],
      figures: { takeovers: { notJudged: 1 } },
    });
  });
});
