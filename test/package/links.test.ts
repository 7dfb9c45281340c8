import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');

/** A file or folder in the text of a page, relative to the root, `lib/` or `lib/stores/redis/`. */
const FILE_NAME =
  /`((?:lib|lua|test|bench|docs|\.scripts|\.ci|nest|api|engine|stores|model|common|connection|doctor|scripts)\/[\w./-]*)`/g;

/** A file of the repository in a code block of a page. */
const FILE_IN_CODE = /(?<![\w./-])((?:lib|lua|test|bench)\/[\w./-]+\.\w+)/g;

interface Link {
  readonly page: string;
  readonly target: string;
}

/** The anchors of a page as GitHub creates them from headings, with a number for repeated ones. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>();
  const headings = withoutCode(text).matchAll(/^#{1,6} +(.+?) *#*$/gm);
  const anchors = [...headings].map(([, heading = '']) => {
    const shown = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = shown.replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replaceAll(' ', '-');
    const before = seen.get(anchor) ?? 0;
    seen.set(anchor, before + 1);
    return before === 0 ? anchor : `${anchor}-${String(before)}`;
  });
  return new Set(anchors);
}

function withoutCode(text: string): string {
  return text.replace(/^( *)(```|~~~)[^]*?^ *\2 *$/gm, '');
}

function linksOf(page: string, text: string): Link[] {
  const inline = withoutCode(text).replace(/`[^`\n]*`/g, '');
  const targets = [
    ...inline.matchAll(/\]\(([^()\s]+)(?: "[^"]*")?\)/g),
    ...inline.matchAll(/^\[[^\]]+\]: *(\S+)/gm),
    ...inline.matchAll(/(?:src|href)="([^"]+)"/g),
  ];
  return targets.map(([, target = '']) => ({ page, target }));
}

/** Folders with files that are not part of the repository. */
const GENERATED = new Set(['.git', '.cache', 'build', 'cache', 'coverage', 'dist', 'node_modules']);

/** The files of the repository, in a folder with a slash at its end. */
function filesIn(folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    if (!entry.isDirectory()) return [folder + entry.name];
    return GENERATED.has(entry.name) ? [] : filesIn(`${folder}${entry.name}/`);
  });
}

describe('the pages of the repository', () => {
  let files: ReadonlySet<string>;
  let pages: readonly string[];
  let links: readonly Link[];
  const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

  beforeAll(() => {
    files = new Set(filesIn());
    pages = [...files].filter((path) => path.endsWith('.md'));
    links = pages.flatMap((page) => linksOf(page, textOf(page)));
  });

  it('link only to files of the repository', () => {
    expect(links.length).toBeGreaterThan(50);
    const all = [...files];
    const broken = links.filter(({ page, target }) => {
      const [path = ''] = target.split('#');
      if (path === '' || /^[a-z]+:/i.test(path)) return false;
      const file = normalize(join(dirname(page), path));
      return !files.has(file) && !all.some((name) => name.startsWith(`${file.replace(/\/$/, '')}/`));
    });
    expect(broken).toEqual([]);
  });

  it('name only existing files', () => {
    const named = pages.flatMap((page) =>
      [...textOf(page).matchAll(FILE_NAME)].map(([, name = '']) => ({ page, name })),
    );
    expect(named.length).toBeGreaterThan(50);
    const isThere = (name: string): boolean =>
      ['', 'lib', 'lib/stores/redis'].some((folder) => existsSync(join(root, folder, name)));
    expect(named.filter(({ name }) => !isThere(name))).toEqual([]);
  });

  it('name only existing files in code blocks', () => {
    const missing = pages.flatMap((page) =>
      [...textOf(page).matchAll(/^( *)(?:```|~~~)[^]*?^ *(?:```|~~~) *$/gm)]
        .flatMap(([block]) => [...block.matchAll(FILE_IN_CODE)].map(([, name = '']) => name))
        .filter((name) => !existsSync(join(root, name)))
        .map((name) => `${page}: ${name}`),
    );
    expect(missing).toEqual([]);
  });

  it('link only to existing headings', () => {
    const broken = links.filter(({ page, target }) => {
      const [path = '', anchor] = target.split('#');
      if (anchor === undefined || /^[a-z]+:/i.test(path)) return false;
      const file = path === '' ? page : normalize(join(dirname(page), path));
      return file.endsWith('.md') && files.has(file) && !anchorsOf(textOf(file)).has(anchor);
    });
    expect(broken).toEqual([]);
  });
});
