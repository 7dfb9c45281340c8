/**
 * Combines both builds in one package: replaces every core module in `dist/esm` by a re-export of the same module in
 * `dist/cjs`. Only the Nest layer exists twice. See docs/internals/decisions/0001-two-builds-one-state.md.
 */
import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, posix, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Modules that run when they are loaded. No module imports them, and they exist as ES modules only. */
const PROGRAMS = ['cli/bin'];

/** Paths of all modules of a build, with forward slashes and without extension. */
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

/** The modules that import `@nestjs/*` directly or indirectly: they need a native build for each module system. */
function nestLayerOf(names, cjs) {
  const imports = new Map(
    names.map((name) => {
      const source = readFileSync(join(cjs, `${name}.js`), 'utf8');
      const found = [...source.matchAll(/require\("([^"]+)"\)/g)].map(([, specifier]) =>
        specifier.startsWith('.')
          ? posix.join(posix.dirname(name), specifier.replace(/\.js$/, ''))
          : specifier,
      );
      return [name, found];
    }),
  );
  const layer = new Set();
  const belongs = (name) => imports.get(name).some((one) => one.startsWith('@nestjs/') || layer.has(one));
  for (let size = -1; size < layer.size;) {
    size = layer.size;
    for (const name of names) if (belongs(name)) layer.add(name);
  }
  // Only index.ts, lib/nest and the entries with modules of their own may import Nest.
  const mayKnow =
    /^(index$|nest\/|health\/|dashboard\/|(leader|prometheus|opentelemetry)\/(index|[a-z-]+\.(module|decorators))$)/;
  const stray = [...layer].find((name) => !mayKnow.test(name));
  if (stray !== undefined) throw new Error(`lib/${stray}.ts imports Nest; move it to lib/nest`);
  return layer;
}

function removePrograms(dir) {
  for (const name of PROGRAMS) {
    for (const ending of ['.js', '.d.ts', '.js.map', '.d.ts.map']) rmSync(join(dir, `${name}${ending}`));
  }
}

export async function linkBuilds(dist) {
  const require = createRequire(import.meta.url);
  const cjs = join(dist, 'cjs');
  const esm = join(dist, 'esm');
  removePrograms(cjs);
  const names = modulesOf(cjs);
  const nestLayer = nestLayerOf(names, cjs);
  const core = names.filter((name) => !nestLayer.has(name));

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

  // Node detects the exports of a CommonJS module by scanning its text. Check that it found all of them.
  for (const [name, exported] of stubs) {
    const linked = await import(pathToFileURL(join(esm, `${name}.js`)).href);
    const original = require(join(cjs, name));
    const split = exported.filter((key) => linked[key] !== original[key]);
    if (split.length > 0)
      throw new Error(`dist/esm/${name}.js does not share ${split.join(', ')} with dist/cjs`);
  }
}
