import { describe, expect, it } from '@jest/globals';
import { checkHistory, RULES_WITH_FAULTS, type HistoryEvent } from '../soak/history-checker.mjs';
import { writeHistory } from '../soak/history/history-file.mjs';
import { askPorcupine, type Verdict } from '../soak/second-judge.mjs';
import { TestFolder } from '../support/test-folder.js';
import { whereThereIs } from '../support/where-there-is.js';

const program = process.env['PORCUPINE'];

type Fields = Readonly<Record<string, unknown>>;

/** What the processes of a run recorded. */
class Recorded {
  private readonly events: HistoryEvent[] = [];

  add(e: string, t: number, fields: Fields = {}): this {
    this.events.push({ e, t, k: 'k', ...fields });
    return this;
  }

  /** A call of process `p` from 1 on, granted at the latest at `from`, with a lease of 1 s, and released at `to`. */
  hold(p: string, tok: number, from: number, to: number, more: Fields = {}): this {
    const hold = { p, i: tok, tok, ...more };
    return this.begun(p, tok, from, more)
      .add('rel', to, { held: true, r: 1_000 + from - to, ...hold })
      .add('rld', to + 5, { out: 'released', ...hold });
  }

  /** A hold whose end is not recorded. */
  begun(p: string, tok: number, from: number, more: Fields = {}): this {
    const hold = { p, i: tok, tok, ...more };
    return this.add('invoke', 1, { w: -1, l: 0, ...hold }).add('ok', from, { held: true, r: 1_000, ...hold });
  }

  inOrder(): readonly HistoryEvent[] {
    return [...this.events].sort((a, b) => a.t - b.t);
  }
}

const recorded = (): Recorded => new Recorded();
const one = (): Recorded => recorded().hold('a', 10, 100, 200);
const permits = (count: number): Fields => ({ kind: 'permits', permits: count, limit: 3 });
const two = (): Recorded =>
  recorded().hold('a', 11, 100, 150, permits(1)).hold('b', 10, 110, 140, permits(1));
const [reader, writer] = [{ kind: 'reader' }, { kind: 'writer' }];
const reading = (): Recorded => recorded().hold('a', 10, 100, 150, reader).hold('b', 9, 110, 160, reader);
const brokenAt = (since: number, fence: number): Recorded =>
  recorded()
    .begun('a', 10, 100)
    .add('doomed', since + 1, { since, fence });
const released = (out: string | undefined): Recorded => {
  const hold = { p: 'a', i: 10, tok: 10 };
  const asked = recorded()
    .begun('a', 10, 100)
    .add('rel', 200, { held: true, r: 900, ...hold });
  return out === undefined ? asked : asked.add('rld', 900, { out, ...hold });
};

const LINEARIZABLE: Readonly<Record<string, Recorded>> = {
  'one hold after the other': one().hold('b', 11, 201, 300),
  'a hold after the lease of one that was never released': recorded()
    .begun('a', 10, 100)
    .hold('b', 11, 1_101, 1_200),
  'a hold after the loss of one': recorded()
    .begun('a', 10, 100)
    .add('lost', 150, { p: 'a', i: 10, tok: 10 })
    .hold('b', 11, 151, 160),
  'a release in doubt that happened': released(undefined).hold('b', 11, 250, 300),
  'a release in doubt that happened late': released(undefined).hold('b', 11, 5_000, 5_010),
  'a release that failed, and happened': released('unknown').hold('b', 11, 250, 300),
  'a request without a reply': one().add('invoke', 90, { p: 'b', i: 1, w: -1 }).hold('c', 11, 210, 300),
  'a hold that is seen only after it was over': one()
    .add('invoke', 90, { p: 'b', i: 9, w: -1 })
    .add('ok', 150, { p: 'b', i: 9, tok: 9, held: false, r: 0 }),
  'a hold after one that the operator broke': brokenAt(120, 10).hold('b', 11, 130, 140),
  'as many permits as there are': two().hold('c', 12, 120, 130, permits(1)),
  'a permit after another was returned': two().hold('c', 12, 141, 160, permits(2)),
  'readers at once': reading(),
  'a writer after readers': reading().hold('c', 12, 161, 170, writer),
  'holds of different keys at once': one().hold('b', 5, 150, 160, { k: 'other' }),
};

const NOT_LINEARIZABLE: Readonly<Record<string, Recorded>> = {
  'two holds at once': one().hold('b', 11, 199, 300),
  'a hold within the lease of one that was never released': recorded()
    .begun('a', 10, 100)
    .hold('b', 11, 1_099, 1_200),
  'a hold before the release of another': released(undefined).hold('b', 11, 199, 300),
  'a smaller token': one().hold('b', 9, 201, 300),
  'the same token': one().hold('b', 10, 201, 300),
  'a token that changes': one().add('chk', 150, { p: 'a', i: 10, tok: 11, held: true, r: 100 }),
  'a hold beside a later one than the broken one': brokenAt(120, 9).hold('b', 11, 130, 140),
  'tokens that start again when the server is empty': one()
    .add('doomed', 301, { since: 300, fence: 10, k: undefined })
    .add('restarted', 302, { fence: 10 })
    .add('invoke', 9_000, { p: 'b', i: 1, w: -1 })
    .add('ok', 9_001, { p: 'b', i: 1, tok: 1, held: true, r: 1_000 }),
  'a permit too many': two().hold('c', 12, 120, 130, permits(2)),
  'a writer beside a reader': reading().hold('c', 12, 155, 170, writer),
  'a writer with a smaller token than a reader': reading().hold('c', 8, 161, 170, writer),
  'a reader with a smaller token than a writer': recorded()
    .hold('a', 10, 100, 110, writer)
    .hold('b', 9, 120, 130, reader),
  'a reader with the token of a writer': recorded()
    .hold('a', 10, 100, 110, writer)
    .hold('b', 10, 120, 130, reader),
};

whereThereIs('Go', program)('the soak’s second judge', () => {
  const folder = new TestFolder();
  const SAFETY = /^(overlap|token-.*)$/;

  /** The verdicts of the checker and of Porcupine. */
  const judged = async (events: Iterable<HistoryEvent>): Promise<{ isGood: boolean; second: Verdict }> => {
    const path = await folder.write('history.jsonl', '');
    const { findings } = checkHistory(writeHistory(events, path), RULES_WITH_FAULTS);
    const isGood = !Object.keys(findings.counts).some((kind) => SAFETY.test(kind));
    return { isGood, second: askPorcupine(program ?? '', path) };
  };

  describe('accepts', () => {
    it.each(Object.entries(LINEARIZABLE))('%s, as the checker does', async (_, history) => {
      const { isGood, second } = await judged(history.inOrder());
      expect(second.stories).toEqual([]);
      expect([second.isLinearizable, isGood]).toEqual([true, true]);
    });
  });

  describe('rejects', () => {
    it.each(Object.entries(NOT_LINEARIZABLE))('%s, as the checker does', async (_, history) => {
      const { isGood, second } = await judged(history.inOrder());
      expect(second.stories).toHaveLength(1);
      expect([second.isLinearizable, isGood]).toEqual([false, false]);
    });
  });

  const HOLDS = 50_000;

  /** Holds of 1 ms, whose calls have waited for 50 others. The one named `late` is released while the next one is held. */
  function* busy(lastToken: number, late?: number): Iterable<HistoryEvent> {
    const call = (i: number): HistoryEvent => ({ e: 'invoke', t: i, p: 'a', i, k: 'k', w: -1 });
    for (let i = 0; i < HOLDS + 50; i++) {
      yield call(i);
      const done = i - 50;
      const hold = { p: 'a', i: done, k: 'k', tok: done === HOLDS - 1 ? lastToken : done + 1, held: true };
      if (done < 0) continue;
      yield { e: 'ok', t: i, r: 100, ...hold };
      yield { e: 'rel', t: i + (done === late ? 1.5 : 0.9), r: 99, ...hold };
    }
  }

  it('judges 100,000 operations of one key under load, and finds the only wrong one', async () => {
    const { second: good } = await judged(busy(HOLDS));
    expect([good.isLinearizable, good.summary]).toEqual([
      true,
      expect.stringContaining('50000 holds of 1 keys'),
    ]);
    const { second: bad } = await judged(busy(HOLDS - 1));
    expect(bad.stories).toEqual([expect.stringContaining(`a/${HOLDS - 1} (token ${HOLDS - 1}`)]);
  });

  it.each([498, 499, 500])('finds an overlap of hold %i, wherever the history is cut', async (late) => {
    const { second } = await judged(busy(HOLDS, late));
    expect(second.stories).toHaveLength(1);
  });
});
