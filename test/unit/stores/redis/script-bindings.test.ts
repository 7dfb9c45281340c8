import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { luaScripts } from '../../../../lib/stores/redis/scripts/lua-source.generated.js';
import { scripts } from '../../../../lib/stores/redis/scripts/scripts.js';
import { redissonScripts } from '../../../../lib/stores/redisson/redisson-scripts.js';

const LUA = join(process.cwd(), 'lua');

interface Binding {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const all = { ...scripts, ...redissonScripts };

const bindings: readonly Binding[] = Object.entries(all).map(([name, { lua }]) => {
  const { keys, args, sharedKeys, sharedArgs } = lua;
  return { name, keys: [...keys, ...sharedKeys], args: [...args, ...sharedArgs] };
});

/** The names in a header's lines such as `-- KEYS[1] lock  hash: …` or `-- ARGV[2i-1] owner  …`, in order. */
function namesIn(header: string, list: 'KEYS' | 'ARGV'): string[] {
  return [...header.matchAll(new RegExp(`^-- ${list}\\[[^\\]]+\\]\\s+(\\w+)`, 'gm'))].map(
    ([, name]) => name ?? '',
  );
}

function headerOf({ name }: Binding): string {
  const source = readFileSync(join(LUA, fileOf(name)), 'utf8');
  return source.slice(0, source.search(/^(?!--)/m));
}

/** Scripts for one lock: those for many, and those with a list, have an index such as `KEYS[2i]`. */
const single = bindings.filter((binding) => !/^-- (KEYS|ARGV)\[\w*i/m.test(headerOf(binding)));

function fileOf(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.lua`;
}

describe('P5: the header of each script lists its KEYS and ARGV, those for all locks last', () => {
  it('every script is used under its name', () => {
    const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
    expect(bindings.map(({ name }) => fileOf(name)).sort()).toEqual(files.sort());
    for (const [name, script] of Object.entries(all)) expect(luaScripts).toHaveProperty(name, script.lua);
  });

  it.each(bindings)('$name', (binding) => {
    const header = headerOf(binding);
    expect(header).toMatch(new RegExp(`^-- ${fileOf(binding.name).replace('.lua', '')}: `));
    expect(header).toMatch(/^-- Reply: /m);
    expect(namesIn(header, 'KEYS')).toEqual(binding.keys);
    expect(namesIn(header, 'ARGV')).toEqual(binding.args);
  });

  it.each(single)('$name takes as many KEYS and ARGV from the script as the header names', (binding) => {
    const source = readFileSync(join(LUA, fileOf(binding.name)), 'utf8');
    const body = source.slice(source.search(/^(?!--)/m));
    const highest = (list: string): number =>
      Math.max(
        0,
        ...[...body.matchAll(new RegExp(`${list}\\[(\\d+)\\]`, 'g'))].map(([, index]) => Number(index)),
      );
    expect(highest('KEYS')).toBe(binding.keys.length);
    expect(highest('ARGV')).toBe(binding.args.length);
  });
});
