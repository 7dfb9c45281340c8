import { posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { API_FOLDER, pageFiles, placeOf, readPage, titleOf } from '../../docs/.vitepress/pages.mjs';
import { linksOf, pagesWithoutSidebar, sidebarOf } from '../../docs/.vitepress/sidebar.mjs';

/** The longest page that readers are expected to read as a whole. */
const MOST_LINES = 300;
/** Pages that are looked things up in. */
const TABLES = ['CHANGELOG.md'];

/** Written by TypeDoc; they are there only after the site was built. */
const isWritten = (file: string): boolean => !file.startsWith(`${API_FOLDER}/`);

describe('the pages of the documentation site', () => {
  const files = pageFiles().filter(isWritten);

  it('are all in the sidebar', () => {
    expect(files.length).toBeGreaterThan(80);
    expect(pagesWithoutSidebar(files)).toEqual([]);
  });

  it('are in the sidebar of their language only', () => {
    for (const [locale, isOwn] of [
      ['en', (link: string) => !link.startsWith('/zh/')],
      ['zh', (link: string) => link.startsWith('/zh/')],
    ] as const) {
      expect(linksOf(sidebarOf(locale, files)).filter((link) => !isOwn(link))).toEqual([]);
    }
  });

  it('are at different addresses', () => {
    const places = files.map((file) => placeOf(file));
    expect(places.filter((place, index) => places.indexOf(place) !== index)).toEqual([]);
  });

  it('have a title', () => {
    expect(files.filter((file) => titleOf(file).trim() === '')).toEqual([]);
  });

  it(`have at most ${MOST_LINES} lines`, () => {
    const tooLong = files.filter((file) => readPage(file).trimEnd().split('\n').length > MOST_LINES);
    expect(tooLong.filter((file) => !TABLES.includes(file))).toEqual([]);
  });
});

describe('the quick start', () => {
  it.each([
    ['README.md', 'docs/introduction/quick-start.md'],
    ['README.zh-CN.md', 'docs/zh/introduction/quick-start.md'],
  ])('includes the first lock of %s, which has the program', (readme, page) => {
    const include = /^<!-- @include: (\S+)#(\S+) -->$/m.exec(readPage(page));
    const [, path = '', region = ''] = include ?? [];
    expect(posix.join(posix.dirname(page), path)).toBe(readme);
    const [, included = ''] = readPage(readme).split(new RegExp(`<!-- #(?:end)?region ${region} -->`));
    expect(included).toContain('class AppModule');
    // Links of an included part would be relative to the page that includes it.
    expect(included).not.toContain('](');
  });
});
