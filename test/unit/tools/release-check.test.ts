import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { OWNERS_FIELDS, problemsOf } from '../../../.scripts/release-check.mjs';
import { released } from '../../../.scripts/release-version.mjs';

const COMPLETE = {
  version: '1.2.3',
  ...Object.fromEntries(OWNERS_FIELDS.map((name) => [name, 'something'])),
};
const CHANGELOG = '# Changelog\n\n## 1.2.3 (2026-01-31)\n\n## 1.2.2 (2026-01-01)\n';

describe('the check before a release', () => {
  it('compares the version with tag, changelog and changesets, and lists fields that are missing', () => {
    expect(
      problemsOf({ ...COMPLETE, homepage: '' }, CHANGELOG, ['README.md', 'config.json'], 'v1.2.3'),
    ).toEqual(['package.json lacks homepage: fill them in.']);
    expect(problemsOf(COMPLETE, CHANGELOG, [], 'v1.2.4')).toEqual([
      'The tag is v1.2.4, and the version in package.json is 1.2.3: they must be the same.',
    ]);
    const undated = problemsOf(COMPLETE, '## 1.2.3 (unreleased)\n## 1.2.30 (2026-01-31)\n', []);
    expect(undated).toEqual([expect.stringContaining('CHANGELOG.md has no heading "## 1.2.3 (')]);
    expect(problemsOf(COMPLETE, CHANGELOG, ['README.md', 'brave-cats-run.md'])).toEqual([
      '.changeset has brave-cats-run.md, not yet in the version: run npm run release:version.',
    ]);
  });

  it('ends with an error and the reasons', () => {
    const script = join(import.meta.dirname, '../../../.scripts/release-check.mjs');
    const { status, stderr } = spawnSync(process.execPath, [script, 'v0.0.0-none'], { encoding: 'utf8' });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Not published:\n/);
    expect(stderr).toContain('The tag is v0.0.0-none');
  });
});

describe('the version of a release', () => {
  it('is put over the unreleased changes, with the date', () => {
    const before = '# Changelog\n\n## Next (unreleased)\n\n- new\n\n## 1.2.2 (2026-01-01)\n';
    const after = released(before, '1.2.3', new Date('2026-01-31T12:00:00Z'));
    expect(after).toBe('# Changelog\n\n## 1.2.3 (2026-01-31)\n\n- new\n\n## 1.2.2 (2026-01-01)\n');
    expect(problemsOf(COMPLETE, after, [])).toEqual([]);
    expect(() => released(after, '1.2.4', new Date())).toThrow('nothing to release');
  });
});
