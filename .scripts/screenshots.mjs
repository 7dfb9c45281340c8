/**
 * `npm run screenshots`: takes the screenshots of docs/operations/page.md, of three processes of the sample app during a
 * sale. Run it when the page has changed, and look at them: processes report at different times, so that figures may disagree.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { withLeftovers } from './applications/leftovers.mjs';
import { prepareLockStore } from './applications/lock-store.mjs';
import { prepareSampleApp, sampleApp, startInstance } from './applications/sample-app.mjs';
import { ensureChromium } from './setup-chromium.mjs';
import { SetupError } from './setup.mjs';

const folder = fileURLToPath(new URL('../docs/operations/images', import.meta.url));
/** Keeps the documentation page fast. */
const MOST_BYTES = 150_000;
const ARTICLES = ['apple', 'pear', 'plum', 'quince', 'cherry', 'medlar'];

const send = (shop, method, path, body) =>
  fetch(new URL(path, shop.url), {
    method,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Starts buyers of each article in every process. Returns a function that stops them. */
function sell(shops, articles = ARTICLES) {
  let isOver = false;
  const buyers = shops.flatMap((shop, index) =>
    articles.flatMap((sku, number) =>
      Array.from({ length: 1 + ((index + number) % 3) }, async () => {
        while (!isOver) await send(shop, 'POST', '/orders', { sku, quantity: 1 });
      }),
    ),
  );
  return async () => {
    isOver = true;
    await Promise.all(buyers);
  };
}

/** Stops the last process by SIGSTOP while it holds a lock that buyers of the other processes wait for. */
async function getStuck(shops, sku) {
  const [shop] = shops;
  const stuck = shops.at(-1);
  const query = `data=lock&key=inventory:${sku}&instance=`;
  const isHolder = async () => {
    const answer = await fetch(new URL(`/locks?${query}`, shop.url));
    const lock = await answer.json();
    return lock?.holders.some(({ process }) => process?.pid === stuck.child.pid) === true;
  };
  for (;;) {
    send(stuck, 'POST', '/orders', { sku, quantity: 1 }).catch(() => undefined);
    while (!(await isHolder())) await setTimeout(10);
    stuck.child.kill('SIGSTOP');
    // Requests in flight have arrived by then.
    await setTimeout(500);
    if (await isHolder()) return stuck;
    stuck.child.kill('SIGCONT');
  }
}

/** Opens the details of a lock with waiters. */
async function openLock(page) {
  const waits = page.getByRole('table', { name: 'Longest waits' });
  await waits.getByRole('button', { name: 'inventory:' }).first().click();
  return page.getByRole('dialog');
}

/** @param prepare returns the element to capture; the whole page if undefined */
async function take(browser, shop, name, options, prepare = async () => undefined) {
  const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...options });
  const page = await context.newPage();
  await page.goto(new URL('/locks', shop.url).href);
  await page.getByRole('table', { name: 'Longest waits' }).waitFor();
  // Fills the plot, and lets all processes publish a snapshot.
  await page.waitForTimeout(14_000);
  const part = (await prepare(page)) ?? page;
  const picture = await part.screenshot({ animations: 'disabled' });
  if (picture.length > MOST_BYTES) throw new Error(`${name} takes ${picture.length} bytes`);
  writeFileSync(join(folder, `${name}.png`), picture);
  console.log(`docs/operations/images/${name}.png  ${Math.round(picture.length / 1_000)} kB`);
  await context.close();
}

async function main(leftovers) {
  const executablePath = ensureChromium();
  if (executablePath === undefined) throw new SetupError('Chromium was not found: set CHROMIUM to its path.');
  const log = (line) => console.log(line);
  await prepareSampleApp({ leftovers, log });
  const data = leftovers.folder('nestjs-distributed-lock-screenshots-');
  const store = await prepareLockStore({ folder: data, application: sampleApp, leftovers, log });
  const env = { ...store.env, DATABASE_FILE: join(data, 'shop.db'), FRAUD_CHECK_LATENCY: '2000' };
  const names = ['one', 'two', 'three'];
  const shops = await Promise.all(names.map((name) => startInstance({ name, env, leftovers })));
  const [shop] = shops;
  for (const sku of ARTICLES) await send(shop, 'PUT', `/inventory/${sku}`, { stock: 1_000_000 });
  mkdirSync(folder, { recursive: true });
  const browser = await chromium.launch({
    executablePath,
    // Greyscale font smoothing halves the size of the files.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-lcd-text'],
  });
  let stop = sell(shops);
  try {
    await take(browser, shop, 'page', {});
    await take(browser, shop, 'lock', { viewport: { width: 1100, height: 640 } }, async (page) => {
      const dialog = await openLock(page);
      await page.getByRole('button', { name: 'Break this lock …' }).click();
      return dialog;
    });
    await take(browser, shop, 'phone', { viewport: { width: 390, height: 844 }, colorScheme: 'dark' });
    await stop();
    const stuck = await getStuck(shops, 'quince');
    stop = sell(
      shops.filter((each) => each !== stuck),
      ['quince'],
    );
    await take(browser, shop, 'stuck', { viewport: { width: 1100, height: 640 } }, openLock);
    stuck.child.kill('SIGCONT');
  } finally {
    await stop();
    await browser.close();
  }
}

await withLeftovers(main);
