import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { ManyScript, Script, scripts } from '../../lib/stores/redis/scripts/scripts.js';

const LUA = join(process.cwd(), 'lua');

interface Binding {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const all = Object.values(scripts);
const single: readonly Binding[] = all.flatMap((script) =>
  script instanceof Script ? [script.binding] : [],
);
const forMany: readonly Binding[] = all.flatMap((script) => {
  if (!(script instanceof ManyScript)) return [];
  const { name, keys, args, sharedKeys, sharedArgs } = script.binding;
  return [{ name, keys: [...keys, ...sharedKeys], args: [...args, ...sharedArgs] }];
});
const bindings = [...single, ...forMany];

/** The names in a header's lines such as `-- KEYS[1] lock  hash: …` or `-- ARGV[2i-1] owner  …`, in order. */
function namesIn(header: string, list: 'KEYS' | 'ARGV'): string[] {
  return [...header.matchAll(new RegExp(`^-- ${list}\\[[^\\]]+\\]\\s+(\\w+)`, 'gm'))].map(
    ([, name]) => name ?? '',
  );
}

function fileOf(name: string): string {
  return `${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}.lua`;
}

describe('P5: header and binding of each script agree', () => {
  it('every script has a binding', () => {
    const files = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
    expect(bindings.map(({ name }) => fileOf(name)).sort()).toEqual(files.sort());
    expect(Object.entries(scripts).map(([name, script]) => [name, script.binding.name])).toEqual(
      Object.keys(scripts).map((name) => [name, name]),
    );
  });

  it.each(bindings)('$name', (binding) => {
    const source = readFileSync(join(LUA, fileOf(binding.name)), 'utf8');
    const header = source.slice(0, source.search(/^(?!--)/m));
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
