import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { axeViolations, TestBrowser } from '../support/browser-page.js';
import { chromiumProgram, whereThereIs } from '../support/where-there-is.js';
import { BuiltSite } from './built-site.js';

/** One page of each kind. */
const KINDS = {
  home: '/',
  guide: '/guides/exclusive',
  diagrams: '/internals/how-it-works',
  tables: '/introduction/choosing-a-store',
  reference: '/reference/',
  API: '/reference/api/nestjs-distributed-lock/classes/LockService',
  Chinese: '/zh/',
};

const PAGES_WITH_TABLES = [
  '/stores/redisson',
  '/guides/leader-election',
  '/introduction/performance',
  '/introduction/choosing-a-store',
  '/coming-from/redisson',
  '/zh/introduction/choosing-a-store',
];

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 390, height: 844 };

let site: BuiltSite;
beforeAll(async () => {
  site = await BuiltSite.serve();
});
afterAll(async () => {
  await site.close();
});

/** The values of an attribute in HTML. */
function valuesOf(attribute: string, html: string): string[] {
  return [...html.matchAll(new RegExp(`\\s${attribute}="([^"]*)"`, 'g'))].map(([, value = '']) =>
    value.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#39;', "'"),
  );
}

describe('the documentation site', () => {
  it('answers all its pages, and all links and anchors in them lead somewhere', async () => {
    const pages = new Map<string, { ids: ReadonlySet<string>; targets: readonly string[] }>();
    for (const path of site.paths()) {
      const url = site.url(path);
      const response = await fetch(url);
      expect(`${path}: ${response.status}`).toBe(`${path}: 200`);
      const html = await response.text();
      const targets = [...valuesOf('href', html), ...valuesOf('src', html)];
      pages.set(url.pathname, { ids: new Set(valuesOf('id', html)), targets });
    }
    expect(pages.size).toBeGreaterThan(200);
    const answers = new Map<string, Promise<number>>();
    const statusOf = (url: URL): Promise<number> => {
      const known = answers.get(url.pathname);
      const answer = known ?? fetch(url).then(({ status }) => status);
      answers.set(url.pathname, answer);
      return answer;
    };
    /** Each with the first page that has it: most are on all pages. */
    const broken = new Map<string, string>();
    for (const [path, { targets }] of pages) {
      for (const target of new Set(targets)) {
        const url = new URL(target, site.url('/').origin + path);
        // Other sites are not for a test to visit.
        if (url.origin !== site.url('/').origin) continue;
        const anchor = decodeURIComponent(url.hash.slice(1));
        const page = pages.get(url.pathname);
        if (page === undefined && (await statusOf(url)) !== 200) broken.set(target, path);
        if (page !== undefined && anchor !== '' && !page.ids.has(anchor)) broken.set(target, path);
      }
    }
    expect(broken).toEqual(new Map());
  });

  it('titles the alerts of a Chinese page in Chinese', async () => {
    const html = await (await fetch(site.url('/zh/stores/'))).text();
    expect(html).toContain('<p class="custom-block-title">注意</p>');
  });
});

whereThereIs(
  'Chromium',
  chromiumProgram,
  'npm run docs:test',
)('the documentation site in a browser', () => {
  describe('the documentation site in a browser', () => {
    let browser: TestBrowser;
    beforeAll(async () => {
      browser = await TestBrowser.start();
    });
    afterEach(async () => {
      // Also requests to other hosts: the site needs none.
      expect(await browser.closePages()).toEqual([]);
    });
    afterAll(async () => {
      await browser.close();
    });

    /** Resolves when Vue has taken over the page, so that its buttons work. */
    const isReady = (page: Page): Promise<unknown> =>
      page.waitForFunction(() => '__vue_app__' in (document.querySelector('#app') ?? {}));

    describe.each(['light', 'dark'] as const)('in %s mode', (colorScheme) => {
      it.each([
        ['a desktop', DESKTOP],
        ['a phone', PHONE],
      ])('is accessible on %s, and no wider than it', async (_, viewport) => {
        const page = await browser.open(site.url('/'), { colorScheme, viewport });
        const problems: string[] = [];
        for (const [kind, path] of Object.entries(KINDS)) {
          await page.goto(String(site.url(path)));
          await isReady(page);
          const isDark = await page.evaluate(() => document.documentElement.classList.contains('dark'));
          expect(isDark).toBe(colorScheme === 'dark');
          problems.push(...(await axeViolations(page)).map((violation) => `${kind}: ${violation}`));
          const { scrollWidth, clientWidth } = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return { scrollWidth, clientWidth };
          });
          if (scrollWidth > clientWidth) problems.push(`${kind}: ${scrollWidth} wide on ${clientWidth}`);
        }
        expect(problems).toEqual([]);
      });
    });

    it.each([
      ['light', DESKTOP],
      ['dark', PHONE],
    ] as const)('finds what is searched, accessibly, in %s mode', async (colorScheme, viewport) => {
      const page = await browser.open(site.url('/'), { colorScheme, viewport });
      await isReady(page);
      await page.getByRole('button', { name: 'Search' }).click();
      const dialog = page.getByRole('dialog', { name: 'Search' });
      await dialog.getByRole('searchbox').fill('fencing');
      const results = dialog.getByRole('listitem').getByRole('link');
      await results.first().waitFor();
      expect((await results.allInnerTexts()).slice(0, 3).join('\n')).toContain('Fencing tokens');
      const links = await results.evaluateAll((all) =>
        all.map((link) => (link as HTMLAnchorElement).pathname),
      );
      // Guides come before the many types that have a token.
      expect(links.slice(0, 3).filter((path) => path.includes('/reference/api/'))).toEqual([]);
      expect(await axeViolations(page)).toEqual([]);
      await results.first().click();
      await page.waitForURL(/fencing/);
    });

    it.each([
      ['a desktop', DESKTOP],
      ['a phone', PHONE],
    ])('breaks no identifier of a table inside a word on %s', async (_, viewport) => {
      const page = await browser.open(site.url('/'), { viewport });
      const broken: string[] = [];
      for (const path of PAGES_WITH_TABLES) {
        await page.goto(String(site.url(path)));
        const words = await page.evaluate(() => {
          const range = document.createRange();
          if (document.querySelector('td code, th code') === null) return ['(no table with an identifier)'];
          return [...document.querySelectorAll('td code, th code')].flatMap((code) => {
            const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
            const found: string[] = [];
            for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
              for (const { index, 0: word } of (text.textContent ?? '').matchAll(/\w+/g)) {
                range.setStart(text, index);
                range.setEnd(text, index + word.length);
                if (range.getClientRects().length > 1) found.push(word);
              }
            }
            return found;
          });
        });
        broken.push(...words.map((word) => `${path}: ${word}`));
      }
      expect(broken).toEqual([]);
    });

    it('shows the entry of the page in its sidebar, also when it is reached by a link', async () => {
      const page = await browser.open(site.url('/operations/troubleshooting'));
      await isReady(page);
      const isInView = (): Promise<unknown> =>
        page.waitForFunction(() => {
          const entry = [...document.querySelectorAll('.VPSidebar .is-active')].at(-1);
          const { top = -1, bottom = Infinity } = entry?.getBoundingClientRect() ?? {};
          return top > 0 && bottom < window.innerHeight;
        });
      await isInView();
      await page.getByRole('navigation', { name: 'Main Navigation' }).getByText('Quick start').click();
      await page.waitForURL(/quick-start/);
      await isInView();
    });

    it('links to the source of a page, also of one outside of docs', async () => {
      const page = await browser.open(site.url('/guides/exclusive'));
      for (const [path, file] of [
        ['/guides/exclusive', 'docs/guides/exclusive.md'],
        ['/safety/', 'docs/safety/README.md'],
        ['/internals/contributing', 'CONTRIBUTING.md'],
      ] as const) {
        await page.goto(String(site.url(path)));
        const href = await page.getByRole('link', { name: 'Edit this page' }).getAttribute('href');
        expect(href).toMatch(new RegExp(`^https://repository\\.example/.*/edit/main/${file}$`));
      }
      await page.goto(String(site.url(KINDS.API)));
      expect(await page.getByRole('link', { name: 'Edit this page' }).count()).toBe(0);
    });
  });
});
