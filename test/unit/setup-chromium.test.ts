import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const script = new URL('../../.scripts/setup-chromium.mjs', import.meta.url).href;

interface SetUp {
  /** What tests are given; null for none. */
  readonly path: string | null;
  /** What the user reads. */
  readonly told: readonly string[];
}

describe('a machine for the tests of the page in a browser', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'setup-chromium-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  const program = (name: string, text = '#!/bin/sh\nexit 1\n'): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    chmodSync(path, 0o755);
    return path;
  };

  /** As on a machine that has nothing but the programs in the folder. */
  const setUp = (env: Record<string, string> = {}): SetUp => {
    const code = `import(${JSON.stringify(script)}).then((setup) => {
      process.stdout.write(JSON.stringify(setup.ensureChromium() ?? null));
    });`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: folder, ...env },
      encoding: 'utf8',
    });
    return { path: JSON.parse(stdout) as string | null, told: stderr.split('\n').filter(Boolean) };
  };

  // Elsewhere it is looked for beside PATH, too.
  (process.platform === 'linux' ? it : it.skip)(
    'is told in one line that there is no Chromium, and what to do',
    () => {
      program('apt-get');
      const { path, told } = setUp();
      expect(path).toBeNull();
      expect(told.filter((line) => !line.startsWith('Installing'))).toEqual([
        'There is no Chromium, and none can be installed: the tests of the page in a browser are skipped. Set CHROMIUM to its path.',
      ]);
    },
  );

  it('is told in one line that what CHROMIUM names is no program, and nothing is installed', () => {
    const asked = join(folder, 'asked');
    program('apt-get', `#!/bin/sh\n: > ${asked}\n`);
    const { path, told } = setUp({ CHROMIUM: join(folder, 'missing') });
    expect(existsSync(asked)).toBe(false);
    expect(path).toBeNull();
    expect(told).toEqual([
      `CHROMIUM is ${join(folder, 'missing')}, which is no program: the tests of the page in a browser are skipped.`,
    ]);
  });

  it('uses the one on PATH, or the one that is named, and says nothing', () => {
    const path = program('chromium');
    expect(setUp()).toEqual({ path, told: [] });
    const other = program('my-browser');
    expect(setUp({ CHROMIUM: other })).toEqual({ path: other, told: [] });
  });
});
