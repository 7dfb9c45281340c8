import { describe, expect, it } from '@jest/globals';
import type { Endpoint } from '../../../../lib/stores/etcd/connection/endpoint.js';
import { EtcdError } from '../../../../lib/stores/etcd/connection/etcd-failure.js';
import { historyWarnings } from '../../../../lib/stores/etcd/connection/start-check.js';

/** The warnings about an etcd at revision `now` whose history begins at `since`, and the revisions that were read. */
async function warned(now: number, since: number): Promise<{ warnings: string[]; asked: number[] }> {
  const asked: number[] = [];
  const call = (_: unknown, { revision }: { readonly revision: number }): Promise<object> => {
    asked.push(revision);
    if (revision >= since) return Promise.resolve({});
    return Promise.reject(new EtcdError('etcdserver: mvcc: required revision has been compacted', 11));
  };
  const warnings = await historyWarnings({ call } as unknown as Endpoint, 'p/base', now);
  return { warnings, asked };
}

describe('warnings about the history of etcd', () => {
  it.each([
    [20_001, 1, 'never compacted its history of 20001 changes.* --auto-compaction-mode=periodic'],
    [9_000_000, 1, 'never compacted'],
    [9_000_000, 8_900_000, 'more than 100000 changes.* --auto-compaction-mode=revision'],
    [9_000_000, 2, 'more than 100000 changes'],
  ])('appear at revision %d with a history since %d', async (now, since, text) => {
    const { warnings } = await warned(now, since);
    expect(warnings).toEqual([expect.stringMatching(text)]);
  });

  it.each([
    [20_000, 1, []],
    [100_000, 90_000, [1]],
    [9_000_000, 8_900_001, [1, 8_900_000]],
  ])('do not appear at revision %d with a history since %d', async (now, since, asked) => {
    expect(await warned(now, since)).toEqual({ warnings: [], asked });
  });

  it('do not appear if etcd rejects the reads', async () => {
    const call = (): Promise<never> => Promise.reject(new EtcdError('etcdserver: permission denied', 7));
    expect(await historyWarnings({ call }, 'p/base', 9_000_000)).toEqual([]);
  });
});
