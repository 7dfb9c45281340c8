import axe from 'axe-core';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { chromiumProgram } from './where-there-is.js';

/** A browser, and the problems that its pages reported. */
export class TestBrowser {
  /** Console errors, exceptions, and requests to other origins. */
  readonly complaints: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async start(): Promise<TestBrowser> {
    if (chromiumProgram === undefined) throw new Error('no Chromium was found');
    // Flags for root, and for containers with little shared memory.
    const args = ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'];
    return new TestBrowser(await chromium.launch({ executablePath: chromiumProgram, args }));
  }

  /** A new page without cookies of other pages. */
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

  /** Closes everything; returns the problems. */
  async closePages(): Promise<readonly string[]> {
    await Promise.all(this.browser.contexts().map((context) => context.close()));
    return this.complaints.splice(0);
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}

/** Violations of accessibility rules, each with its element. */
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
