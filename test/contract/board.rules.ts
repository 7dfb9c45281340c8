import { beforeEach, describe, expect, it } from '@jest/globals';
import { sourcesOf } from '../../lib/api/lock-admin.js';
import type { LockBoard } from '../../lib/stores/port/index.js';
import { until } from '../support/until.js';
import type { ContractContext } from './contract-context.js';

/** What processes publish for the lock dashboard. */
export function boardRules(context: ContractContext): void {
  describe('O20: the dashboard board', () => {
    let one: LockBoard;
    let other: LockBoard;

    beforeEach(async () => {
      // The board outlasts the test.
      context.leavesLocks();
      const apps = await context.fleet(2);
      const boards = apps.map(({ admin }) => sourcesOf(admin).board).filter((board) => board !== undefined);
      expect(boards).toHaveLength(2);
      [one, other] = boards as [LockBoard, LockBoard];
    });

    it('notifies all processes that a dashboard is open, until that notice expires', async () => {
      expect(await other.isWatched()).toBe(false);
      await one.watch(60_000);
      expect([await one.isWatched(), await other.isWatched()]).toEqual([true, true]);
      await other.watch(50);
      await until('the notice has expired', async () => !(await one.isWatched()));
    });

    it('returns the latest text of each process unchanged, with any characters', async () => {
      expect(await one.read()).toEqual([]);
      await one.publish('a', 'first', 60_000);
      await one.publish('a', JSON.stringify({ key: '</script>\r\n\0"\u2028{😀}' }), 60_000);
      await other.publish('b', 'x'.repeat(100_000), 60_000);
      const texts = await other.read();
      expect([...texts].sort()).toEqual(
        ['x'.repeat(100_000), JSON.stringify({ key: '</script>\r\n\0"\u2028{😀}' })].sort(),
      );
      expect([...(await one.read())].sort()).toEqual([...texts].sort());
    });

    it('drops the text of a process that stops publishing', async () => {
      await one.publish('a', 'stays', 60_000);
      await other.publish('b', 'ends', 50);
      await until('the text has expired', async () => (await one.read()).length === 1);
      expect(await other.read()).toEqual(['stays']);
    });
  });
}
