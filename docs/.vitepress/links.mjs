/**
 * Links of pages on the site. Pages link to files, so that the links work in the repository, too. A link to a page leads to
 * that page of the site, a link to another file to the repository; without a known repository only its text is left.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { addressOf, isPage, pageFiles, placeOf, root } from './pages.mjs';

/** Files in `docs/` that readers download: the build copies them. */
const DOWNLOADS = /\.(json|yaml|sql)$/;

/** The home pages say what the READMEs say. */
const HOME = { 'README.md': '/', 'README.zh-CN.md': '/zh/' };

/**
 * What a link in a page means on the site.
 *
 * @param {string} page the file of the page, relative to the root of the repository
 * @param {string} href as in the page
 * @param {(file: string) => string | undefined} sourceOf where the repository shows a file, if that is known
 * @returns {{ href: string, download?: string } | { text: true } | { dead: true }}
 */
export function linkOf(page, href, sourceOf) {
  if (/^[a-z][a-z+.-]*:/i.test(href) || href.startsWith('#')) return { href };
  const [, path, anchor = ''] = /^([^#]*)(#.*)?$/.exec(href);
  const file = fileOf(page, decodeURI(path));
  if (file === undefined) return { dead: true };
  if (HOME[file] !== undefined) return { href: HOME[file] };
  const target = pageOf(file);
  if (target !== undefined) return { href: addressOf(placeOf(target)) + anchor };
  if (file.startsWith('docs/') && DOWNLOADS.test(file)) {
    const download = file.slice('docs/'.length);
    return { href: `/${download}`, download };
  }
  const source = sourceOf(file);
  return source === undefined ? { text: true } : { href: source + anchor };
}

/** The file that a page links to. Pages in Chinese may link to pages that are not translated as if they were. */
function fileOf(page, path) {
  const named = posix.join(posix.dirname(page), path);
  const candidates = [named, named.replace(/^docs\/zh\//, 'docs/')];
  return candidates.find((file) => !file.startsWith('..') && existsSync(join(root, file)));
}

/** The page itself, or that of a folder: its README, or else its first page. */
function pageOf(file) {
  if (!statSync(join(root, file)).isDirectory()) return isPage(file) ? file : undefined;
  const folder = file.replace(/\/$/, '');
  if (isPage(`${folder}/README.md`)) return `${folder}/README.md`;
  return pageFiles().find((page) => dirname(page) === folder);
}

/**
 * A plugin for markdown-it.
 *
 * @param {import('markdown-it')} md
 * @param {{ sourceOf: (file: string) => string | undefined, base: string, onDead: (what: string) => void, onDownload: (file: string) => void }} options
 */
export function siteLinks(md, { sourceOf, base, onDead, onDownload }) {
  md.core.ruler.push('site_links', (state) => {
    const { realPath, path } = state.env;
    const file = realPath ?? path;
    // Titles of pages are rendered by themselves.
    if (file === undefined) return;
    const page = posix.normalize(file.slice(root.length).replaceAll('\\', '/'));
    for (const { children } of state.tokens) {
      if (!children) continue;
      const isText = [];
      for (const token of children) {
        if (token.type === 'link_close' && isText.pop()) toSpan(token);
        if (token.type !== 'link_open') continue;
        const href = token.attrGet('href');
        const link = linkOf(page, href, sourceOf);
        if (link.dead) onDead(`${page}: ${href}`);
        isText.push(link.href === undefined);
        if (link.href === undefined) toSpan(token);
        else token.attrSet('href', link.href);
        if (link.download !== undefined) {
          token.attrSet('download', '');
          // VitePress adds it to other links only.
          token.attrSet('href', base + link.download);
          onDownload(link.download);
        }
      }
    }
  });
}

function toSpan(token) {
  token.type = token.nesting === 1 ? 'text_link_open' : 'text_link_close';
  token.tag = 'span';
  token.attrs = null;
}

/** The anchor of a heading as in the repository, so that one link works in both. */
export function anchorOf(heading) {
  return heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '')
    .replaceAll(' ', '-');
}
