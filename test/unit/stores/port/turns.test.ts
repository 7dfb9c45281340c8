import { expect, it } from '@jest/globals';
import { Turns } from '../../../../lib/stores/port/turns.js';

it('work for one name runs sequentially, also after a failure, and leaves nothing behind', async () => {
  const turns = new Turns<string>();
  const begun: string[] = [];
  let fail: (error: Error) => void = () => undefined;
  const first = turns.run('one', () => {
    begun.push('first');
    return new Promise<never>((_, reject) => (fail = reject));
  });
  const second = turns.run('one', async () => begun.push('second'));
  await turns.run('other', async () => begun.push('other'));
  expect(begun).toEqual(['first', 'other']);
  expect([turns.isBusy('one'), turns.isBusy('other')]).toEqual([true, false]);
  fail(new Error('refused'));
  await expect(first).rejects.toThrow('refused');
  await second;
  expect(begun).toEqual(['first', 'other', 'second']);
  expect(turns.isBusy('one')).toBe(false);
});
