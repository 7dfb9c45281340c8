import { describe, expect, it } from '@jest/globals';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inMs } from '../../../lib/common/durations.js';
import { requestTimeoutFor } from '../../../lib/stores/port/times.js';

const LIB = fileURLToPath(new URL('../../../lib/', import.meta.url));

describe('durations in messages', () => {
  it('are whole milliseconds', () => {
    expect(inMs(requestTimeoutFor(2_500))).toBe('417 ms');
    expect(inMs(30)).toBe('30 ms');
  });

  it('are rounded by one function, or with an explicit number of digits', () => {
    const sources = readdirSync(LIB, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.ts') && !/generated|durations\.ts/.test(path),
    );
    const unrounded = sources.flatMap((path) =>
      (readFileSync(join(LIB, path), 'utf8').match(/\$\{[^}]*\} ms\b/g) ?? [])
        .filter((text) => !/toFixed|Math\.round/.test(text))
        .map((text) => `${path}: ${text}`),
    );
    expect(unrounded).toEqual([]);
  });
});
