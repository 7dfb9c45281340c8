/**
 * `npm run build`: generates the Lua module and the page, compiles both builds, and links them.
 *
 * A failed build removes `dist`, so that tests and npm never use an incomplete build.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generateLua } from './generate-lua.mjs';
import { generatePage } from './generate-page.mjs';
import { linkBuilds } from './link-builds.mjs';
import { timeOfBuild } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Marks the files as CommonJS. Its time stamp is the start of the build. */
const BUILD_MARKER = join(root, 'dist/cjs/package.json');

async function nestBuild(tsconfig) {
  const manifest = createRequire(import.meta.url).resolve('@nestjs/cli/package.json');
  const nest = join(dirname(manifest), 'bin/nest.js');
  const compiler = spawn(process.execPath, [nest, 'build', '--path', tsconfig], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const [status] = await once(compiler, 'exit');
  if (status !== 0) throw new Error(`nest build --path ${tsconfig} found errors`);
}

/**
 * Lets applications without ioredis compile with `skipLibCheck: false`: the options of the module name its types, which are
 * `any` there. The compiler would drop the comments from the sources.
 */
function allowMissingIoredis(dist) {
  const files = readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.d.ts'));
  for (const file of files.map((name) => join(dist, name))) {
    const types = readFileSync(file, 'utf8');
    const line = /^(?:import|export) .* from ['"]ioredis['"];$/gm;
    if (line.test(types)) writeFileSync(file, types.replace(line, '// @ts-ignore: an optional peer\n$&'));
  }
}

export async function build() {
  generateLua();
  await generatePage();
  const startedAt = timeOfBuild();
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  try {
    // Waits for both even if one fails: a running compiler would write into the next build.
    const outcomes = await Promise.allSettled(['tsconfig.cjs.json', 'tsconfig.esm.json'].map(nestBuild));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed) throw failed.reason;
    writeFileSync(BUILD_MARKER, '{ "type": "commonjs" }\n');
    await linkBuilds(dist);
    allowMissingIoredis(dist);
    utimesSync(BUILD_MARKER, startedAt, startedAt);
  } catch (error) {
    rmSync(dist, { recursive: true, force: true });
    throw error;
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  try {
    await build();
  } catch (error) {
    console.error(`build failed: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
