import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { beforeFirstUnreleased } from '../../../bench/against/first-unreleased.mjs';
import { git } from '../../../bench/against/git.mjs';

const RELEASED = '# Changelog\n\n## 1.0.0\n\nAll of it.\n';
const UNRELEASED = '# Changelog\n\n## 1.1.0 (unreleased)\n\nMore.\n\n## 1.0.0\n\nAll of it.\n';

describe('the reference for unreleased changes', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'bench-reference-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const run = (...args: string[]): string => {
    const identity = [
      '-c',
      'user.name=Test',
      '-c',
      'user.email=test@example.com',
      '-c',
      'commit.gpgsign=false',
    ];
    return execFileSync('git', [...identity, ...args], { cwd: folder, encoding: 'utf8' }).trim();
  };
  const commit = (changelog: string): string => {
    writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
    run('add', '-A');
    run('commit', '-q', '--allow-empty', '-m', 'a change');
    return run('rev-parse', 'HEAD');
  };
  const reference = (changelog: string, cwd = folder) =>
    beforeFirstUnreleased(changelog, (args) => git(args, { cwd }));

  it('is the parent of the commit that wrote the heading, without a version tag', () => {
    run('init', '-q');
    const released = commit(RELEASED);
    commit(UNRELEASED);
    commit(`${UNRELEASED}\nAnd more.\n`);
    expect(reference(UNRELEASED)).toEqual({ commit: released });
  });

  it('is the last tagged version, not another tag', () => {
    run('init', '-q');
    commit('# Changelog\n\n## 1.0.0 (unreleased)\n');
    run('tag', 'v0.9.0');
    const released = commit(RELEASED);
    run('tag', '-a', 'v1.0.0', '-m', 'the version');
    commit(UNRELEASED);
    run('tag', 'nightly');
    expect(reference(UNRELEASED)).toEqual({ commit: released });
  });

  it('does not exist right after a release', () => {
    run('init', '-q');
    commit(RELEASED);
    run('tag', 'v1.0.0');
    expect(reference(RELEASED)).toEqual({ none: 'nothing has changed since v1.0.0' });
  });

  it('does not exist if the first unreleased commit is the first of all, or nothing is unreleased', () => {
    run('init', '-q');
    commit(UNRELEASED);
    expect(reference(UNRELEASED)).toEqual({ none: 'nothing was there before the first unreleased change' });
    expect(reference(RELEASED)).toEqual({ none: 'CHANGELOG.md has no heading of what is unreleased' });
  });

  it('does not exist in a shallow clone, in a folder without history, and inside another repository', () => {
    run('init', '-q', 'whole');
    const whole = join(folder, 'whole');
    const clone = join(folder, 'clone');
    writeFileSync(join(whole, 'CHANGELOG.md'), RELEASED);
    const inWhole = (...args: string[]): string => run('-C', whole, ...args);
    inWhole('add', '-A');
    inWhole('commit', '-q', '-m', 'first');
    writeFileSync(join(whole, 'CHANGELOG.md'), UNRELEASED);
    inWhole('commit', '-q', '-a', '-m', 'second');
    run('clone', '-q', '--depth', '1', `file://${whole}`, clone);
    expect(reference(UNRELEASED, clone)).toEqual({
      none: 'the clone is shallow, so the first unreleased change is not in it',
    });
    expect(reference(UNRELEASED)).toEqual({ none: 'there is no git history here' });
    mkdirSync(join(whole, 'vendored'));
    expect(reference(UNRELEASED, join(whole, 'vendored'))).toEqual({ none: 'there is no git history here' });
  });
});
