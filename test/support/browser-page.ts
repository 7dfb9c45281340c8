import axe from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { chromiumProgram } from './where-there-is-chromium.js';

/** A browser, and what went wrong on its pages. */
export class TestBrowser {
  /** Errors of the console, exceptions, and requests to elsewhere. */
  readonly complaints: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    if (chromiumProgram === undefined) throw new Error('there is no Chromium');
    // As root, and in containers with little shared memory.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    return new TestBrowser(await chromium.launch({ executablePath: chromiumProgram, args }));
  }

  /** A new page at an address, without cookies of others. */
  async open(url: string | URL, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    const { origin } = new URL(url);
    page.on('console', (message) => {
      if (message.type() === 'error') this.complaints.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.complaints.push(`exception: ${error.message}`));
    page.on('dialog', (dialog) => {
      this.complaints.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) this.complaints.push(`request to ${request.url()}`);
    });
    await page.goto(String(url));
    return page;
  }

  /** Closes what was opened; answers what went wrong. */
  async closePages(): Promise<readonly string[]> {
    await Promise.all(this.browser.contexts().map((context) => context.close()));
    return this.complaints.splice(0);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

/** What is in the way of people who don't see, or don't point: each with where it is. */
export async function axeViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate(async () => {
    const { axe: checker } = globalThis as unknown as {
      axe: {
        run: () => Promise<{
          violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
        }>;
      };
    };
    const { violations } = await checker.run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ''}`),
    );
  });
}
