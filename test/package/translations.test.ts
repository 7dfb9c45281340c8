import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const textOf = (page: string): string => readFileSync(join(root, page), 'utf8');

/** The folders of docs that are translated. */
const TRANSLATED = ['introduction', 'guides', 'safety'];
/** Translated pages of other folders. */
const ALSO_TRANSLATED = [
  'coming-from/redisson.md',
  'operations/kubernetes.md',
  'operations/monitoring.md',
  'operations/runbook.md',
  'stores/README.md',
];

const pagesIn = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `${folder}/${name}`);

const chineseOf = (page: string): string =>
  page === 'README.md' ? 'README.zh-CN.md' : page.replace(/^docs\//, 'docs/zh/');

const ENGLISH = [
  'README.md',
  ...TRANSLATED.flatMap((folder) => pagesIn(`docs/${folder}`)),
  ...ALSO_TRANSLATED.map((page) => `docs/${page}`),
];
/** English page, Chinese page. */
const PAIRS = ENGLISH.map((page) => [page, chineseOf(page)] as const);

/** Blocks of code with the hidden comments before them, which say where a sample is from. */
const CODE = /(?:<!--(?:(?!-->)[^])*-->\s*)*^( *)(```|~~~)[^\n]*\n[^]*?^ *\2 *$/gm;
const GENERATED = /<!-- (\w+) -->[^]*?<!-- \/\1 -->/g;

const codeIn = (text: string): string[] => [...text.matchAll(CODE)].map(([block]) => block);
const withoutCode = (text: string): string => text.replaceAll(CODE, '');

/** The levels of the headings, in order. */
const headingsIn = (text: string): string[] =>
  [...withoutCode(text).matchAll(/^(#{1,6}) +\S/gm)].map(([, level = '']) => level);

/** The numbers of lines of the tables, in order. */
const tablesIn = (text: string): number[] =>
  [...withoutCode(text).matchAll(/(?:^ *\|.*\n)+/gm)].map(([table]) => table.trimEnd().split('\n').length);

/** The files that the images show, relative to the root. */
const imagesIn = (page: string): string[] =>
  [...withoutCode(textOf(page)).matchAll(/!\[[^\]]*\]\((\S+?)\)|<img [^>]*src="([^"]+)"/g)].map(
    ([, path, source]) => posix.join(posix.dirname(page), path ?? source ?? ''),
  );

/** What is written as code within lines, such as the names of options. Generated parts say it in their own way. */
const namesIn = (text: string): Set<string> =>
  new Set(
    [
      ...withoutCode(text)
        .replaceAll(GENERATED, '')
        .matchAll(/`([^`\n]+)`/g),
    ].map(([, name = '']) => name),
  );

/** The pages that a page links to, each as the English page. */
const linksIn = (page: string): string[] => {
  const links = [
    ...withoutCode(textOf(page)).matchAll(/(?<!!)\[[^\]]*\]\((?![a-z]+:)([^)#\s]+)(?:#[^)\s]*)?\)/g),
  ];
  return links
    .map(([, path = '']) => posix.join(posix.dirname(page), path))
    .map((path) => PAIRS.find(([, chinese]) => chinese === path)?.[0] ?? path)
    .filter((path) => !['README.md', 'README.zh-CN.md'].includes(path))
    .sort();
};

describe('the translation into Chinese', () => {
  it('has every page of the introduction, the guides and safety, and no other', () => {
    expect(ENGLISH.length).toBeGreaterThan(20);
    expect(PAIRS.filter(([, chinese]) => !existsSync(join(root, chinese)))).toEqual([]);
    const folders = [...new Set([...TRANSLATED, ...ALSO_TRANSLATED.map((page) => posix.dirname(page))])];
    const chinese = folders.flatMap((folder) => pagesIn(`docs/zh/${folder}`));
    expect(chinese.sort()).toEqual(
      PAIRS.map(([, page]) => page)
        .filter((page) => page.startsWith('docs/'))
        .sort(),
    );
    expect(readdirSync(join(root, 'docs/zh')).sort()).toEqual([...folders, 'index.md'].sort());
  });

  it('has the same entries on the home page', () => {
    const entriesOf = (page: string): string[] =>
      (textOf(page).split('\n---\n')[0] ?? '')
        .split('\n')
        .map((line) => (/^ *link:/.test(line) ? line.replace('/zh/', '/') : line.replace(/:.*/, '')));
    const [chinese, english] = ['docs/zh/index.md', 'docs/index.md'] as const;
    expect(entriesOf(chinese)).toEqual(entriesOf(english));
    expect(codeIn(textOf(chinese))).toEqual(codeIn(textOf(english)));
  });

  describe.each(PAIRS)('of %s', (english, chinese) => {
    it('has the same code blocks, levels of headings, tables, images and generated parts', () => {
      const structureOf = (page: string) => {
        const text = textOf(page);
        return {
          code: codeIn(text),
          headings: headingsIn(text),
          tables: tablesIn(text),
          images: imagesIn(page),
          generated: [...text.matchAll(GENERATED)].map(([, name = '']) => name),
        };
      };
      expect(structureOf(chinese)).toEqual(structureOf(english));
    });

    it('names the same options and methods', () => {
      const names = namesIn(textOf(chinese));
      expect([...namesIn(textOf(english))].filter((name) => !names.has(name))).toEqual([]);
    });

    it('links to the same pages, in Chinese where they are', () => {
      expect(linksIn(chinese)).toEqual(linksIn(english));
      const translated = new Set(PAIRS.map(([page]) => page));
      const strays = [...textOf(chinese).matchAll(/\]\((?![a-z]+:)([^)#\s]+)/g)]
        .map(([, path = '']) => posix.join(posix.dirname(chinese), path))
        .filter((path) => translated.has(path) && path !== 'README.md');
      expect(strays).toEqual([]);
    });
  });
});
