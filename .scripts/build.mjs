/**
 * `npm run build`: generates the Lua module and the page, compiles `lib` into `build`, and bundles that into `dist`, which is
 * published. `build` is for development: tools that use or change single modules find them unbundled in `build/cjs`.
 *
 * A failed build removes `dist`, so that tests and npm never use an incomplete build.
 */
import { spawnSync } from 'node:child_process';
import { rmSync, utimesSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { bundlePackage, writeUnbundled } from './bundle.mjs';
import { generateLua } from './generate-lua.mjs';
import { generatePage } from './generate-page.mjs';
import { timeOfBuild } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
/** Marks the files as CommonJS. Its time stamp is the start of the build. */
const BUILD_MARKER = join(dist, 'cjs/package.json');

function nestBuild() {
  const manifest = createRequire(import.meta.url).resolve('@nestjs/cli/package.json');
  const nest = join(dirname(manifest), 'bin/nest.js');
  const stdio = ['ignore', 'inherit', 'inherit'];
  const { status } = spawnSync(process.execPath, [nest, 'build'], { cwd: root, stdio });
  if (status !== 0) throw new Error('nest build found errors');
}

function removeBuild() {
  for (const folder of ['dist', 'build']) rmSync(join(root, folder), { recursive: true, force: true });
}

export async function build() {
  generateLua();
  await generatePage();
  const startedAt = timeOfBuild();
  removeBuild();
  try {
    nestBuild();
    await bundlePackage(dist);
    await writeUnbundled(join(root, 'build/cjs'));
    writeFileSync(BUILD_MARKER, '{ "type": "commonjs" }\n');
    utimesSync(BUILD_MARKER, startedAt, startedAt);
  } catch (error) {
    removeBuild();
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
