/** Which files of the repository are pages of the site, where, and under which title. Plain Node without dependencies. */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Written by TypeDoc from the comments in `lib/`, not kept in the repository. */
export const API_FOLDER = 'docs/reference/api';

/** Pages that stand outside of `docs/`, where readers of the repository expect them. */
const ELSEWHERE = [
  [/^examples\/README\.md$/, 'examples/index.md'],
  [/^examples\/([\w-]+)\/README\.md$/, 'examples/$1.md'],
  [/^sample-app\/README\.md$/, 'examples/sample-app.md'],
  [/^bench\/README\.md$/, 'internals/bench.md'],
  [/^CONTRIBUTING\.md$/, 'internals/contributing.md'],
  [/^SECURITY\.md$/, 'security.md'],
  [/^CHANGELOG\.md$/, 'changelog.md'],
];
/** Pages for maintainers, which stay in the repository. */
const OFF_THE_SITE = /^docs\/internals\/(?!(README|how-it-works|proof)\.md$)/;
/** Where pages may be, besides the folders in `docs` and in `examples`. */
const FOLDERS = ['docs', 'examples', 'sample-app', 'bench', '.'];

/**
 * Where the site shows a file of the repository.
 *
 * @param {string} file relative to the root of the repository
 * @returns {string | undefined} relative to the root of the site, ending in `.md`; undefined if the file is no page
 */
export function placeOf(file) {
  if (file.startsWith('docs/.vitepress/') || OFF_THE_SITE.test(file)) return undefined;
  if (/^docs\/.*\.md$/.test(file))
    return file.slice('docs/'.length).replace(/(^|\/)README\.md$/, '$1index.md');
  const [pattern, place] = ELSEWHERE.find(([pattern]) => pattern.test(file)) ?? [];
  return pattern && file.replace(pattern, place);
}

/** The address of a page below the site's base: `guides/index.md` is shown at `/guides/`, `guides/testing.md` at `/guides/testing`. */
export function addressOf(place) {
  return `/${place.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;
}

/**
 * All pages: the files, relative to the root of the repository.
 *
 * @returns {string[]}
 */
export function pageFiles() {
  return markdownFiles()
    .filter((file) => placeOf(file) !== undefined)
    .sort();
}

/** The files in `docs/` that are no pages of the site. */
export function filesOffTheSite() {
  return walk('docs').filter((file) => OFF_THE_SITE.test(file));
}

function markdownFiles() {
  const examples = readdirSync(join(root, 'examples')).map((name) => `examples/${name}`);
  return [...walk('docs'), ...[...FOLDERS, ...examples].flatMap((folder) => markdownIn(folder))];
}

function walk(folder) {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== '.vitepress')
    .flatMap(({ name }) => [...markdownIn(`${folder}/${name}`), ...walk(`${folder}/${name}`)]);
}

function markdownIn(folder) {
  if (!statSync(join(root, folder)).isDirectory()) return [];
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => (folder === '.' ? name : `${folder}/${name}`));
}

/** Whether a file of the repository is there and a page. */
export function isPage(file) {
  return placeOf(file) !== undefined && existsSync(join(root, file));
}

export function readPage(file) {
  return readFileSync(join(root, file), 'utf8');
}

/** The title of a page: its first heading as plain text, or that of its front matter. */
export function titleOf(file) {
  const text = readPage(file);
  const title =
    text.match(/^---\n[^]*?^title: *['"]?(.+?)['"]? *$[^]*?^---$/m)?.[1] ??
    text.match(/^# +(.+?) *#*$/m)?.[1];
  if (title === undefined) throw new Error(`${file} has no heading that starts with "# "`);
  return title
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\\(.)/g, '$1')
    .replace(/[`*]/g, '');
}
