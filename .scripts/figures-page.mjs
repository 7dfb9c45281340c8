/**
 * `npm run figures:page`: how smoothly the lock dashboard scrolls through 10,000 locks in Chromium, in ms per frame over ten
 * scrolls from top to bottom. The figures apply to this machine only, so run it on an idle one. Tests check the work per frame.
 */
import { chromium } from 'playwright-core';
import { ensureChromium } from './setup-chromium.mjs';
import { ensureBuild, ensureDependencies } from './setup.mjs';

const LOCKS = 10_000;
const WAYS = 10;
const STEPS = 100;

async function startApplication() {
  await import('reflect-metadata');
  const { Module } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { DistributedLockModule, LockService } = await import('../dist/esm/index.js');
  const { LockDashboardModule } = await import('../dist/esm/dashboard.js');
  class Application {}
  const imports = [
    DistributedLockModule.forRoot({ store: 'memory', shutdownTimeout: 0 }),
    LockDashboardModule.forRoot({ access: 'open' }),
  ];
  Module({ imports })(Application);
  const application = await NestFactory.create(Application, { logger: ['error'] });
  await application.listen(0, '127.0.0.1');
  const locks = application.get(LockService, { strict: false });
  const keys = Array.from({ length: LOCKS }, (_, number) => `order:${String(number).padStart(5, '0')}`);
  await Promise.all(keys.map((key) => locks.acquire(key, { leaseTime: 600_000 })));
  return application;
}

/* global document, requestAnimationFrame */
/** Runs in the browser: ms per frame while scrolling from the first row to the last. */
async function framesOfOneWay(steps) {
  const body = document.querySelector('.table .body');
  const taken = [];
  body.scrollTop = 0;
  await new Promise(requestAnimationFrame);
  let last = performance.now();
  for (let step = 0; step < steps; step += 1) {
    body.scrollTop += (body.scrollHeight - body.clientHeight) / steps;
    await new Promise(requestAnimationFrame);
    taken.push(performance.now() - last);
    last = performance.now();
  }
  return taken;
}

ensureDependencies();
ensureBuild();
const executablePath = process.env.CHROMIUM ?? ensureChromium();
if (executablePath === undefined) throw new Error('Chromium was not found: set CHROMIUM to its path');
const application = await startApplication();
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${await application.getUrl()}/locks`);
  await page.getByRole('button', { name: 'List all locks in the store' }).click();
  await page.getByRole('status').getByText('The store has 10,000 held locks.').waitFor();
  for (let way = 1; way <= WAYS; way += 1) {
    const frames = (await page.evaluate(framesOfOneWay, STEPS)).sort((one, other) => one - other);
    const at = (share) => frames[Math.ceil(share * STEPS) - 1].toFixed(1);
    console.log(`scroll ${way}: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, longest ${at(1)} ms`);
  }
} finally {
  await browser.close();
  await application.close();
}
