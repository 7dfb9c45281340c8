import { describe, expect, it } from '@jest/globals';
import { API_FOLDER, pageFiles, placeOf, readPage, titleOf } from '../../docs/.vitepress/pages.mjs';
import { linksOf, pagesWithoutSidebar, sidebarOf } from '../../docs/.vitepress/sidebar.mjs';
import { samplesOf } from './samples.js';

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
  it('begins with the sample of the README', () => {
    const sampleOf = (page: string): string | undefined =>
      samplesOf(page).find(({ code }) => code.includes('class AppModule'))?.code;
    expect(sampleOf('docs/introduction/quick-start.md')).toBe(sampleOf('README.md'));
    expect(sampleOf('README.md')).toBeDefined();
  });
});
