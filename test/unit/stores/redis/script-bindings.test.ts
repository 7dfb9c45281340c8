import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { luaScripts } from '../../../../lib/stores/redis/scripts/lua-source.generated.js';
import { scripts } from '../../../../lib/stores/redis/scripts/scripts.js';
import { redissonScripts } from '../../../../lib/stores/redisson/redisson-scripts.js';

const LUA = join(process.cwd(), 'lua');

const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
const texts = files.map((file) => {
  const source = readFileSync(join(LUA, file), 'utf8');
  const body = source.search(/^(?!--)/m);
  return { file, header: source.slice(0, body), body: source.slice(body) };
});

/** The types of calls are generated from the headers. */
describe('P5: the header of each script lists its KEYS and ARGV', () => {
  it('every script is used under its name', () => {
    const used = Object.entries({ ...scripts, ...redissonScripts });
    expect(used).toHaveLength(files.length);
    for (const [name, script] of used) expect(luaScripts).toHaveProperty(name, script.lua);
  });

  it.each(texts)('$file', ({ file, header, body }) => {
    expect(header).toMatch(new RegExp(`^-- ${file.replace('.lua', '')}: `));
    expect(header).toMatch(/^-- Reply: /m);
    // Those for many locks, and those with a list, have an index such as `KEYS[2i]`.
    if (/^-- (KEYS|ARGV)\[\w*i/m.test(header)) return;
    for (const list of ['KEYS', 'ARGV']) {
      const listed = [...header.matchAll(new RegExp(`^-- ${list}\\[`, 'gm'))].length;
      const used = [...body.matchAll(new RegExp(`${list}\\[(\\d+)\\]`, 'g'))].map(([, index]) =>
        Number(index),
      );
      expect({ list, highest: Math.max(0, ...used) }).toEqual({ list, highest: listed });
    }
  });
});
