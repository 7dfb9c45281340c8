/**
 * `node .scripts/release-check.mjs [tag]`: refuses to publish a package that lacks what only its owner knows, or whose version,
 * tag and changelog differ. Plain Node without dependencies.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The fields of package.json that the owner fills in before the first release. */
export const OWNERS_FIELDS = ['repository', 'homepage', 'bugs', 'author', 'funding'];

/**
 * Why this package must not be published.
 *
 * @param {Record<string, unknown> & { version: string }} manifest the package.json
 * @param {string} changelog the text of CHANGELOG.md
 * @param {readonly string[]} changesets the files in `.changeset`
 * @param {string} [tag] the tag that is to be published, such as `v1.2.3`
 * @returns {string[]} empty if it may be published
 */
export function problemsOf(manifest, changelog, changesets, tag) {
  const { version } = manifest;
  const problems = [];
  const missing = OWNERS_FIELDS.filter((name) => !manifest[name]);
  if (missing.length > 0) problems.push(`package.json lacks ${missing.join(', ')}: fill them in.`);
  if (tag !== undefined && tag !== `v${version}`)
    problems.push(`The tag is ${tag}, and the version in package.json is ${version}: they must be the same.`);
  if (!changelog.split('\n').some((line) => isHeadingOf(line, version)))
    problems.push(
      `CHANGELOG.md has no heading "## ${version} (year-month-day)": run npm run release:version, and set the date.`,
    );
  const pending = changesets.filter((name) => name.endsWith('.md') && name !== 'README.md');
  if (pending.length > 0)
    problems.push(
      `.changeset has ${pending.join(', ')}, not yet in the version: run npm run release:version.`,
    );
  return problems;
}

function isHeadingOf(line, version) {
  return line.startsWith(`## ${version} (`) && /\(\d{4}-\d\d-\d\d\)$/.test(line);
}

function main([tag]) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const textOf = (name) => readFileSync(join(root, name), 'utf8');
  const problems = problemsOf(
    JSON.parse(textOf('package.json')),
    textOf('CHANGELOG.md'),
    readdirSync(join(root, '.changeset')),
    tag,
  );
  if (problems.length === 0) return;
  console.error(['Not published:', ...problems.map((problem) => `  - ${problem}`)].join('\n'));
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));
