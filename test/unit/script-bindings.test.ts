import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { acquireScript } from '../../lib/stores/redis/scripts/acquire.script.js';
import { cancelScript } from '../../lib/stores/redis/scripts/cancel.script.js';
import { checkScript } from '../../lib/stores/redis/scripts/check.script.js';
import { forceReleaseScript } from '../../lib/stores/redis/scripts/force-release.script.js';
import { inspectScript } from '../../lib/stores/redis/scripts/inspect.script.js';
import { raiseScript } from '../../lib/stores/redis/scripts/raise.script.js';
import { releaseScript } from '../../lib/stores/redis/scripts/release.script.js';
import { renewScript } from '../../lib/stores/redis/scripts/renew.script.js';
import { reserveScript } from '../../lib/stores/redis/scripts/reserve.script.js';
import { shareScript } from '../../lib/stores/redis/scripts/share.script.js';
import { touchScript } from '../../lib/stores/redis/scripts/touch.script.js';
import { takeAllScript } from '../../lib/stores/redis/scripts/take-all.script.js';
import { takeScript } from '../../lib/stores/redis/scripts/take.script.js';

const LUA = join(process.cwd(), 'lua');

interface Binding {
  readonly name: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

const single: readonly Binding[] = [
  acquireScript.binding,
  cancelScript.binding,
  checkScript.binding,
  forceReleaseScript.binding,
  inspectScript.binding,
  raiseScript.binding,
  touchScript.binding,
];
const forMany: readonly Binding[] = [
  releaseScript.binding,
  reserveScript.binding,
  renewScript.binding,
  takeScript.binding,
  takeAllScript.binding,
  shareScript.binding,
].map(({ name, keys, args, sharedKeys, sharedArgs }) => ({
  name,
  keys: [...keys, ...sharedKeys],
  args: [...args, ...sharedArgs],
}));
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
    const scripts = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
    expect(bindings.map(({ name }) => fileOf(name)).sort()).toEqual(scripts.sort());
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
