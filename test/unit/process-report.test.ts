import { describe, expect, it } from '@jest/globals';
import { parseSnapshot, snapshotOf, textOf } from '../../lib/dashboard/to-wire.js';
import { FakeLockService } from '../../lib/testing/index.js';

describe('what a process tells of its locks', () => {
  // A store may cut the connection of the locks for what is too long, and counts bytes.
  it.each([
    ['letters of one byte', 'k'.repeat(1_000), 'l'.repeat(200)],
    ['letters of three bytes', '錠'.repeat(330), '名'.repeat(200)],
  ])(
    'stays short where it has very many of them with very long names of %s, the oldest first',
    async (_, name, label) => {
      const locks = new FakeLockService();
      for (let number = 0; number < 700; number += 1) {
        await locks.acquire(`${String(number).padStart(4, '0')}${name}`, { label });
      }
      const text = textOf(snapshotOf(locks, []));
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(400_000);
      const told = parseSnapshot(text);
      expect(told?.health.holds).toBe(700);
      expect(told?.held.length).toBeGreaterThan(100);
      expect(told?.held[0]?.key.startsWith('0000')).toBe(true);
    },
  );

  it('is read only where it is of this form: a later version of the library may have another', () => {
    for (const text of ['', 'null', '7', '{}', '{"version":2}', '[]', '{"version":'])
      expect(parseSnapshot(text)).toBeUndefined();
  });
});
