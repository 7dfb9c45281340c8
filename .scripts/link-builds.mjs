/**
 * Makes one package out of two builds: in `dist/esm` every module of the core becomes a few lines that re-export
 * the same module of `dist/cjs`. Only the Nest layer exists twice. See docs/decisions/0001-two-builds-one-state.md.
 */
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The modules that import `@nestjs/*` and therefore need a native build for each module system. */
export const NEST_LAYER = /^(index|distributed-lock\.module|(decorators|nest)\/.+)$/;

/** Paths of all modules of a build, without extension, with forward slashes. */
function modulesOf(dir) {
  return readdirSync(dir, { recursive: true })
    .filter((file) => file.endsWith('.js'))
    .map((file) => file.slice(0, -'.js'.length).split(sep).join('/'))
    .sort();
}

function stubFor(esmFile, cjsFile, exported) {
  let target = relative(dirname(esmFile), cjsFile).split(sep).join('/');
  if (!target.startsWith('.')) target = `./${target}`;
  const code =
    exported.length === 0 ? 'export {};\n' : `export { ${exported.join(', ')} } from '${target}.js';\n`;
  return { code, types: `export * from '${target}.js';\n` };
}

/** Fails when a core module of the CommonJS build loads Nest: the stub would then load a second, foreign copy. */
function assertCoreIsFreeOfNest(name, cjsFile) {
  const source = readFileSync(`${cjsFile}.js`, 'utf8');
  const found = /require\("(@nestjs\/[^"]+)"\)/.exec(source)?.[1];
  if (found)
    throw new Error(`lib/${name}.ts imports ${found}; move it to lib/nest, lib/decorators or the module`);
}

export async function linkBuilds(dist) {
  const require = createRequire(import.meta.url);
  const cjs = join(dist, 'cjs');
  const esm = join(dist, 'esm');
  const core = modulesOf(cjs).filter((name) => !NEST_LAYER.test(name));
  for (const name of core) assertCoreIsFreeOfNest(name, join(cjs, name));

  const stubs = new Map();
  for (const name of core) {
    const exported = Object.keys(require(join(cjs, name))).filter((key) => key !== '__esModule');
    if (exported.includes('default')) throw new Error(`lib/${name}.ts has a default export; give it a name`);
    const { code, types } = stubFor(join(esm, name), join(cjs, name), exported);
    writeFileSync(join(esm, `${name}.js`), code);
    writeFileSync(join(esm, `${name}.d.ts`), types);
    rmSync(join(esm, `${name}.js.map`), { force: true });
    rmSync(join(esm, `${name}.d.ts.map`), { force: true });
    stubs.set(name, exported);
  }

  // Node finds the names of a CommonJS module by scanning its text: make sure that it found each of them.
  for (const [name, exported] of stubs) {
    const linked = await import(pathToFileURL(join(esm, `${name}.js`)).href);
    const original = require(join(cjs, name));
    const split = exported.filter((key) => linked[key] !== original[key]);
    if (split.length > 0)
      throw new Error(`dist/esm/${name}.js does not share ${split.join(', ')} with dist/cjs`);
  }
}
