import { describe, expect, it } from '@jest/globals';
import { parseSnapshot, snapshotOf, textOf } from '../../../lib/dashboard/to-wire.js';
import { FakeLockService } from '../../../lib/testing/index.js';

describe('snapshots of a process', () => {
  // A store may close the connection after a value that is too long, in bytes.
  it.each([
    ['characters of one byte', 'k'.repeat(1_000), 'l'.repeat(200)],
    ['characters of three bytes', '錠'.repeat(330), '名'.repeat(200)],
  ])('stay short with many locks of very long names (%s), the oldest hold first', async (_, name, label) => {
    const locks = new FakeLockService();
    for (let number = 0; number < 700; number += 1) {
      await locks.acquire(`${String(number).padStart(4, '0')}${name}`, { label });
    }
    const text = textOf(snapshotOf(locks.admin, []));
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(400_000);
    const report = parseSnapshot(text);
    expect(report?.status.holds).toBe(700);
    expect(report?.held.length).toBeGreaterThan(100);
    expect(report?.held[0]?.key.startsWith('0000')).toBe(true);
  });

  it('are ignored if another version of the library wrote them', () => {
    for (const text of ['', 'null', '7', '{}', '{"version":2}', '[]', '{"version":'])
      expect(parseSnapshot(text)).toBeUndefined();
  });
});
