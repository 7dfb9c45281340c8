import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const script = new URL('../../.scripts/setup-chromium.mjs', import.meta.url).href;

interface SetUp {
  /** The path that tests receive; null for none. */
  readonly path: string | null;
  /** The lines printed for the user. */
  readonly lines: readonly string[];
}

describe('the set-up of Chromium for browser tests', () => {
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

  /** Runs the set-up as on a machine that has only the programs in the folder. */
  const setUp = (env: Record<string, string> = {}): SetUp => {
    const code = `import(${JSON.stringify(script)}).then((setup) => {
      process.stdout.write(JSON.stringify(setup.ensureChromium() ?? null));
    });`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      env: { PATH: folder, ...env },
      encoding: 'utf8',
    });
    return { path: JSON.parse(stdout) as string | null, lines: stderr.split('\n').filter(Boolean) };
  };

  // On other platforms it is also searched outside of PATH.
  (process.platform === 'linux' ? it : it.skip)(
    'reports in one line that there is no Chromium, with a remedy',
    () => {
      program('apt-get');
      const { path, lines } = setUp();
      expect(path).toBeNull();
      expect(lines.filter((line) => !line.startsWith('Installing'))).toEqual([
        'There is no Chromium, and none can be installed: the tests of the page in a browser are skipped. Set CHROMIUM to its path.',
      ]);
    },
  );

  it('reports in one line that CHROMIUM names no program, and installs nothing', () => {
    const asked = join(folder, 'asked');
    program('apt-get', `#!/bin/sh\n: > ${asked}\n`);
    const { path, lines } = setUp({ CHROMIUM: join(folder, 'missing') });
    expect(existsSync(asked)).toBe(false);
    expect(path).toBeNull();
    expect(lines).toEqual([
      `CHROMIUM is ${join(folder, 'missing')}, which is no program: the tests of the page in a browser are skipped.`,
    ]);
  });

  it('silently uses the program on PATH, or the one that CHROMIUM names', () => {
    const path = program('chromium');
    expect(setUp()).toEqual({ path, lines: [] });
    const other = program('my-browser');
    expect(setUp({ CHROMIUM: other })).toEqual({ path: other, lines: [] });
  });
});
