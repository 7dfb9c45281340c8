import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import * as exported from '../../lib/index.js';
import * as exportedForTests from '../../lib/testing/index.js';

const run = promisify(execFile);

interface Found {
  readonly loaded: number;
  readonly different: string[];
  /** The exports of each additional entry point that are identical in both builds. */
  readonly same: Readonly<Record<string, readonly string[]>>;
  readonly fakeIsService: boolean;
  readonly esmWiring: unknown;
  readonly cjsWiring: unknown;
}

/** Jest can't require an ES module, so a separate process loads the two builds. */
describe('one process with both builds', () => {
  let found: Found;

  beforeAll(async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, 'both-builds.mjs')]);
    found = JSON.parse(stdout) as Found;
    found.different.sort();
  });

  it('has every class, and everything else with state or identity, once', () => {
    expect(found.loaded).toBe(Object.keys(exported).length);
    // Stateless functions that import Nest's decorators exist in each build.
    expect(found.different).toEqual(['InjectLockAdmin', 'InjectLockService', 'Locked']);
  });

  it('has the other entry points once, so that nothing is measured twice, and fakes are those of the application', () => {
    expect(found.same).toEqual({
      testing: Object.keys(exportedForTests),
      store: ['InvalidCursorError', 'LockStoreError'],
      health: ['LockHealthIndicator', 'LockHealthModule'],
      // Its decorators are functions without state.
      leader: ['LeaderElection', 'LeaderElectionModule'],
      prometheus: ['LockPrometheusModule'],
      opentelemetry: ['LockOpenTelemetryModule'],
    });
    expect(found.fakeIsService).toBe(true);
  });

  it('shares services and scopes: a hold of one build is re-entered through the other', () => {
    const shared = { sameService: true, entered: 'entered', afterwards: false };
    expect(found.esmWiring).toEqual(shared);
    expect(found.cjsWiring).toEqual(shared);
  });
});

describe('one process with two copies of the package', () => {
  it('F66: warns and names both, since @Locked of one does not find the module of the other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'lock-copies-'));
    try {
      const root = join(import.meta.dirname, '../..');
      const copies = ['one', 'two'].map((name) => join(folder, name));
      for (const copy of copies) {
        await cp(join(root, 'dist'), join(copy, 'dist'), { recursive: true });
        await cp(join(root, 'package.json'), join(copy, 'package.json'));
        await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
      }
      const load = (...files: string[]): Promise<{ stderr: string }> =>
        run(process.execPath, ['-e', files.map((file) => `require(${JSON.stringify(file)});`).join('')]);
      const [one = '', two = ''] = copies.map((copy) => join(copy, 'dist/cjs/index.js'));
      const { stderr } = await load(one, two);
      expect(stderr).toMatch(
        /Two copies of nestjs-distributed-lock are loaded: \S+\/one\/dist\S+ and \S+\/two\/dist/,
      );
      expect((await load(one, one.replace('index', 'testing'))).stderr).toBe('');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
