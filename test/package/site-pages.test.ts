import { describe, expect, it } from '@jest/globals';
import { linkOf } from '../../docs/.vitepress/links.mjs';
import { settingsOf } from '../../docs/.vitepress/manifest.mjs';
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

describe('links on the documentation site', () => {
  const repository = (file: string): string => `https://repository.example/blob/main/${file}`;
  const unknown = (): undefined => undefined;
  const page = 'docs/guides/exclusive.md';

  it.each([
    ['another page', 're-entrant.md', '/guides/re-entrant'],
    ['a heading of another page', '../operations/health.md#a', '/operations/health#a'],
    ['the first page of a folder', '../safety/README.md#fencing-tokens', '/safety/#fencing-tokens'],
    ['a folder with a README', '../../examples/', '/examples/'],
    ['an example', '../../examples/payment/README.md', '/examples/payment'],
    ['the README, which the home page stands for', '../../README.md#your-first-lock', '/'],
    ['the README in Chinese', '../../README.zh-CN.md', '/zh/'],
    ['a page outside of docs', '../../CONTRIBUTING.md', '/internals/contributing'],
    ['a heading of the same page', '#cost', '#cost'],
    ['another site', 'https://nestjs.com/', 'https://nestjs.com/'],
  ])('lead to %s', (_, href, expected) => {
    expect(linkOf(page, href, unknown)).toEqual({ href: expected });
    expect(linkOf(page, href, repository)).toEqual({ href: expected });
  });

  it('lead to the repository for a file that is no page, and are text while it is unknown', () => {
    const href = '../../lib/index.ts';
    expect(linkOf(page, href, repository)).toEqual({ href: repository('lib/index.ts') });
    expect(linkOf(page, href, unknown)).toEqual({ text: true });
  });

  it('lead to the repository for a page of maintainers', () => {
    const href = '../internals/rules.md';
    expect(linkOf(page, href, repository)).toEqual({ href: repository('docs/internals/rules.md') });
    expect(linkOf(page, href, unknown)).toEqual({ text: true });
  });

  it('download files of docs', () => {
    const file = 'operations/prometheus-alerts.yaml';
    expect(linkOf(page, `../${file}`, unknown)).toEqual({ href: `/${file}`, download: file });
  });

  it('are dead if there is no such file', () => {
    expect(linkOf(page, 'no-such-page.md', repository)).toEqual({ dead: true });
    expect(linkOf(page, '../../../outside.md', repository)).toEqual({ dead: true });
  });

  it('lead from a page in Chinese to the English page if there is no other', () => {
    const chinese = 'docs/zh/guides/exclusive.md';
    expect(linkOf(chinese, '../internals/proof.md', unknown)).toEqual({ href: '/internals/proof' });
    expect(linkOf(chinese, '../../internals/proof.md', unknown)).toEqual({ href: '/internals/proof' });
  });
});

describe('what the documentation site takes from package.json', () => {
  it('is the version, and nothing else while the owner has not filled it in', () => {
    const settings = settingsOf({ version: '1.2.3' });
    expect(settings).toMatchObject({ version: '1.2.3', base: '/' });
    expect(settings).not.toHaveProperty('repository');
    expect(settings).not.toHaveProperty('editPattern');
    expect(settings.sourceOf('lib/index.ts')).toBeUndefined();
  });

  it.each([
    'https://host.example/owner/name',
    'git+https://host.example/owner/name.git',
    'git@host.example:owner/name.git',
    'git+ssh://git@host.example/owner/name.git',
    { url: 'git+https://host.example/owner/name.git' },
  ])('is the repository: %j', (repository) => {
    const settings = settingsOf({ version: '1.2.3', repository });
    expect(settings.editPattern).toBe('https://host.example/owner/name/edit/main/:path');
    expect(settings.sourceOf('lib/')).toBe('https://host.example/owner/name/blob/main/lib');
  });

  it.each([
    ['https://owner.example/name/', '/name/'],
    ['https://owner.example/name', '/name/'],
    ['https://owner.example', '/'],
    ['https://host.example/owner/name#readme', '/'],
  ])('is the path of the site: %s', (homepage, base) => {
    expect(settingsOf({ version: '1.2.3', homepage }).base).toBe(base);
  });
});
