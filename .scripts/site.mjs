/**
 * The documentation site of `docs/`. `npm run docs` serves it and reloads pages as they change, `npm run docs:build` builds it
 * into `docs/.vitepress/dist`, and `npm run docs:test` builds and tests it. Each installs what it needs first. Options after
 * `--`: of VitePress for `docs`, of Jest for `docs:test`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateLua } from './generate-lua.mjs';
import { generatePage } from './generate-page.mjs';
import { ensureChromium } from './setup-chromium.mjs';
import { SetupError, ensureDependencies } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/.vitepress');

/** What GitHub Pages and a published package.json would set. Tests need no real repository: they open nothing there. */
const SETTINGS_OF_TESTS = {
  DOCS_BASE: '/nestjs-distributed-lock/',
  DOCS_REPOSITORY: 'https://repository.example/nestjs-distributed-lock',
};

/** @throws {SetupError} if the program fails; it has said why */
function run(program, args, env = {}) {
  const { status } = spawnSync(process.execPath, [program, ...args], {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new SetupError(`${[program.slice(root.length), ...args].join(' ')} failed.`);
}

async function prepare() {
  ensureDependencies();
  ensureDependencies({ cwd: folder });
  // Sources that TypeDoc reads.
  generateLua();
  await generatePage();
}

/** Writes the reference of the public API to docs/reference/api. */
function writeApi() {
  run(join(folder, 'node_modules/typedoc/bin/typedoc'), ['--options', join(folder, 'typedoc.mjs')]);
}

function vitepress(args, env) {
  run(join(folder, 'node_modules/vitepress/bin/vitepress.js'), args, env);
}

async function timed(what, work) {
  const start = performance.now();
  await work();
  console.log(`${what}: ${((performance.now() - start) / 1_000).toFixed(1)} s`);
}

async function test(args) {
  await timed('Dependencies', prepare);
  await timed('Reference', writeApi);
  await timed('Site', () => vitepress(['build', 'docs'], SETTINGS_OF_TESTS));
  const chromium = ensureChromium();
  await timed('Tests', () =>
    run(join(root, '.scripts/test.mjs'), ['--no-setup', '--site', ...args], {
      // Also if undefined: overrides a value that names no program.
      CHROMIUM: chromium,
      SITE_BASE: SETTINGS_OF_TESTS.DOCS_BASE,
    }),
  );
}

const [command, ...args] = process.argv.slice(2);
try {
  if (command === 'test') await test(args);
  else {
    await prepare();
    if (command === 'build' || !existsSync(join(root, 'docs/reference/api'))) writeApi();
    vitepress([command === 'build' ? 'build' : 'dev', 'docs', ...args]);
  }
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
