/** What the site takes from the package.json of the package, and how it copes without it. Plain Node without dependencies. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './pages.mjs';

/** The branch that the site is built from. */
const BRANCH = 'main';

/**
 * @param {{ version: string, repository?: string | { url: string }, homepage?: string }} manifest
 * @param {Record<string, string | undefined>} [env] `DOCS_BASE` and `DOCS_REPOSITORY` override what the manifest says
 * @returns {{ version: string, base: string, repository?: string, sourceOf: (file: string) => string | undefined, editPattern?: string }}
 *   `sourceOf`: where the repository shows a file or folder, if it is known
 */
export function settingsOf(manifest, env = {}) {
  const repository = env['DOCS_REPOSITORY'] || webAddressOf(manifest.repository);
  return {
    version: manifest.version,
    base: baseOf(env['DOCS_BASE'] ?? pathOf(manifest.homepage)),
    ...(repository && { repository, editPattern: `${repository}/edit/${BRANCH}/:path` }),
    sourceOf: (file) => repository && `${repository}/blob/${BRANCH}/${file.replace(/\/$/, '')}`,
  };
}

/** The page of a repository, of any of the ways in which npm lets a manifest name it. */
function webAddressOf(repository) {
  const url = typeof repository === 'string' ? repository : repository?.url;
  if (!url) return undefined;
  const short = /^(?:(github|gitlab|bitbucket):)?([\w.-]+\/[\w.-]+)$/.exec(url);
  if (short) {
    const [, host = 'github', name] = short;
    return `https://${host}.${host === 'bitbucket' ? 'org' : 'com'}/${name}`;
  }
  return url
    .replace(/^git\+/, '')
    .replace(/^(?:ssh|git):\/\/(?:git@)?/, 'https://')
    .replace(/^git@([^:/]+):/, 'https://$1/')
    .replace(/\.git$/, '')
    .replace(/\/$/, '');
}

/** The homepage may be a page of the repository, such as its README; then the site's address is not known. */
function pathOf(homepage) {
  if (!homepage || homepage.includes('#')) return '/';
  return new URL(homepage).pathname;
}

const baseOf = (path) => `/${path.replace(/^\/|\/$/g, '')}/`.replace('//', '/');

export const readManifest = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
