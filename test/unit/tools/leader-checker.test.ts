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

  verdict(endingAt = 100_000): { kinds: string[]; figures: Fields } {
    const inOrder = [...this.add('ending', endingAt).events].sort((one, other) => one.t - other.t);
    const { findings, figures } = checkElection(inOrder, RULES);
    return { kinds: Object.keys(findings.counts), figures };
  }

  get kinds(): string[] {
    return this.verdict().kinds;
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

  it('B80: finds two processes that believe it at the same moment', () => {
    const twice = election().leads('a', 10, 5_000, 10_000).leads('b', 20, 9_999, lastsToTheEnd);
    expect(twice.kinds).toEqual(['overlap']);
  });

  it('B80: counts a belief from the end of its first reading to the begin of its last one', () => {
    // Stopped within a reading, whose clock was read before.
    const stopped = election()
      .leads('a', 10, 5_000, 10_000)
      .add('leads', 14_000, { p: 'a', tok: 10, b: 10_005 })
      .leads('b', 20, 11_600, lastsToTheEnd);
    expect(stopped.kinds).toEqual([]);
    const inGoodFaith = election()
      .leads('a', 10, 5_000, 10_000)
      .add('leads', 14_001, { p: 'a', tok: 10, b: 14_000 })
      .leads('b', 20, 11_600, lastsToTheEnd);
    expect(inGoodFaith.kinds).toEqual(['overlap']);
  });

  it('counts a leader that was deposed from outside only until then', () => {
    const deposed = (fence: number): string[] =>
      election()
        .leads('a', 10, 5_000, 10_000)
        .add('doomed', 9_600, { since: 9_500, k: 'k0', fence })
        .leads('b', 20, 9_550, lastsToTheEnd).kinds;
    expect(deposed(10)).toEqual([]);
    expect(deposed(9)).toEqual(['overlap']);
  });

  it('finds tokens that do not grow', () => {
    expect(election().leads('a', 10, 1, 2_000).leads('b', 9, 2_100, lastsToTheEnd).kinds).toEqual([
      'token-order',
    ]);
    expect(election().leads('a', 10, 1, 2_000).leads('b', 10, 2_100, lastsToTheEnd).kinds).toEqual([
      'token-repeated',
    ]);
  });

  it('finds a leader that believes it after its revocation', () => {
    const revoked = election()
      .leads('a', 10, 5_000, 10_000)
      .add('revoked', 9_000, { p: 'a', tok: 10, reason: 'expired' })
      .leads('b', 20, 10_001, lastsToTheEnd);
    expect(revoked.kinds).toEqual(['leads-after-revocation']);
  });

  it('B84: finds a takeover after a crash that is too late, or never comes', () => {
    const killed = (): Election =>
      election().leads('a', 10, 5_000, 10_000).fault('process killed', 10_001, { p: 'a' });
    expect(killed().leads('b', 20, 12_499, lastsToTheEnd).kinds).toEqual([]);
    expect(killed().leads('b', 20, 12_501, lastsToTheEnd).kinds).toEqual(['late-takeover']);
    expect(killed().kinds).toEqual(['late-takeover']);
    const whileBlocked = (p: string): string[] =>
      killed().add('stall', 12_400, { p, from: 11_400 }).leads('b', 20, 12_501, lastsToTheEnd).kinds;
    expect(whileBlocked('b')).toEqual([]);
    expect(whileBlocked('a')).toEqual(['late-takeover']);
  });

  it('B82, B83: finds a hand-over after a resignation or shutdown that is too late', () => {
    const resigned = (): Election => election().leads('a', 10, 5_000, 10_000).resigns('a', 10, 10_000);
    expect(resigned().leads('b', 20, 10_999, lastsToTheEnd).kinds).toEqual([]);
    expect(resigned().leads('b', 20, 11_001, lastsToTheEnd).kinds).toEqual(['late-hand-over']);
  });

  it('B82: finds a leader that comes before the work of the last one has ended', () => {
    const working = (end: number): string[] =>
      election()
        .leads('a', 10, 5_000, 10_000)
        .resigns('a', 10, 10_000, end)
        .leads('b', 20, 10_050, lastsToTheEnd).kinds;
    expect(working(10_049)).toEqual([]);
    expect(working(10_051)).toEqual(['work-overlap']);
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
    const late = election().leads('a', 10, 5_000, 10_000).leads('b', 20, 15_000, lastsToTheEnd);
    expect(disturb(late).verdict()).toMatchObject({ kinds: [], figures: { takeovers: { notJudged: 1 } } });
  });

  it('judges a takeover long after other faults', () => {
    const late = election()
      .fault('process stopped', 4_000, { p: 'b', ms: 1_900 })
      .leads('a', 10, 5_000, 10_000)
      .leads('b', 20, 15_000, lastsToTheEnd);
    expect(late.kinds).toEqual(['late-takeover']);
  });

  it('finds processes that crash, as in other runs', () => {
    const crashed = election().add('start', 0, { p: 'a' }).add('exit', 10, { p: 'a', code: 1 });
    expect(crashed.kinds).toEqual(['crash']);
  });
});
