const TAGS = ['--match', 'v[0-9]*', '--match', '[0-9]*'];

/**
 * The commit before the unreleased changes: the last tagged version, or, before the first tag, the parent of the commit
 * that added the "unreleased" heading to the changelog.
 *
 * @param {string} changelog its text
 * @returns {{ commit: string } | { none: string }} `none`: why there is no such commit
 */
export function beforeFirstUnreleased(changelog, git) {
  const { ok, output: head } = git(['rev-parse', '--verify', '--quiet', 'HEAD']);
  // A prefix means that this folder is inside another repository, whose history is not that of this package.
  if (!ok || git(['rev-parse', '--show-prefix']).output !== '')
    return { none: 'there is no git history here' };
  const tag = git(['describe', '--tags', '--abbrev=0', ...TAGS]);
  if (tag.ok) {
    const commit = git(['rev-parse', `${tag.output}^{commit}`]).output;
    return commit === head ? { none: `nothing has changed since ${tag.output}` } : { commit };
  }
  const heading = /^## .*\bunreleased\b.*$/im.exec(changelog)?.[0];
  if (heading === undefined) return { none: 'CHANGELOG.md has no heading of what is unreleased' };
  const [added] = git(['log', '--format=%H', `-S${heading}`, '--', 'CHANGELOG.md']).output.split('\n');
  if (!added) return { none: 'no commit has the heading of what is unreleased' };
  const parent = git(['rev-parse', '--verify', '--quiet', `${added}^`]);
  return parent.ok
    ? { commit: parent.output }
    : { none: 'nothing was there before the first unreleased change' };
}
