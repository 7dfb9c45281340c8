import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { plantNames, plantOf } from '../soak/plants.mjs';
import { storeNames } from '../soak/servers/servers.mjs';

const build = join(import.meta.dirname, '../../build/cjs');

/** The build as the soak reads it; changes are discarded. */
const unchanged = {
  filesIn: (folder: string): string[] =>
    readdirSync(join(build, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js'))
      .map((name) => folder + name),
  read: (file: string): string | undefined =>
    existsSync(join(build, file)) ? readFileSync(join(build, file), 'utf8') : undefined,
  write: (): void => {},
};

const sets = [...storeNames(), 'leader'];
const plants = sets.flatMap((of) => plantNames(of).map((name) => [of, name] as const));

describe('the planted bugs of the soak', () => {
  // A change of the code may remove the text that they replace.
  it.each(plants)('%s: %s finds its text in the build', (of, name) => {
    expect(() => {
      plantOf(of, name).into(unchanged);
    }).not.toThrow();
  });
});
