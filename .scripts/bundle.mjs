/**
 * Bundles the compiled modules of `build/esm` into `dist`, see docs/internals/decisions/0023-bundled-package.md: the core once,
 * as CommonJS, and the Nest layer for each module system. The declarations are bundled in the same way.
 */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rollup } from 'rollup';
import { dts } from 'rollup-plugin-dts';
import ts from 'typescript';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiled = join(root, 'build/esm');

/** The entries of the package: the names of their files in `dist`, and their modules. */
const ENTRIES = {
  index: 'index',
  dashboard: 'dashboard/index',
  etcd: 'stores/etcd/index',
  health: 'health/index',
  leader: 'leader/index',
  opentelemetry: 'opentelemetry/index',
  postgres: 'stores/postgres/index',
  prometheus: 'prometheus/index',
  redisson: 'stores/redisson/index',
  store: 'stores/port/index',
  testing: 'testing/index',
  zookeeper: 'stores/zookeeper/index',
};

/** The command line: an ES module that runs when it is loaded, and imports only core modules. */
const PROGRAM = { cli: 'cli/bin' };

/** The chunks of the core. An entry loads only those of which it uses something. */
const CHUNKS = {
  base: /^(common|model|stores\/port)\//,
  engine: /^(api|engine)\//,
  // All that the options of the module may name.
  redis: /^(stores\/(redis|quorum|fallback)\/|nest\/module\/distributed-lock\.options$)/,
  nest: /^nest\//,
};
/** Every other room is a chunk. */
const ROOM = /^(?:stores\/)?([a-z]+)\//;

/** A module that re-exports what others import from a chunk, so that the chunk exports these names. */
const FACADE = '/exports-of/';

/** The path of a chunk of the core in `dist/cjs`, without ending. */
function chunkOf(name) {
  const [chunk] = Object.entries(CHUNKS).find(([, modules]) => modules.test(name)) ?? [];
  return `core/${chunk ?? ROOM.exec(name)[1]}`;
}

/** Modules are named by their path without ending. */
const fileOf = (name, ending) => join(compiled, name + ending);
const nameOf = (file, ending) => relative(compiled, file.slice(0, -ending.length)).split(sep).join('/');
const resolved = (importer, specifier) =>
  specifier.startsWith('.') ? posix.join(posix.dirname(importer), specifier.replace(/\.js$/, '')) : specifier;

/** The imports of every compiled module, or of its declarations. */
function readImports(ending) {
  const files = readdirSync(compiled, { recursive: true }).filter((file) => file.endsWith(ending));
  return new Map(
    files.map((file) => {
      const name = nameOf(join(compiled, file), ending);
      const { importedFiles } = ts.preProcessFile(readFileSync(join(compiled, file), 'utf8'));
      return [name, importedFiles.map(({ fileName }) => resolved(name, fileName))];
    }),
  );
}

/**
 * The modules that import `@nestjs/*` directly or indirectly: they need a native build for each module system. `npm run
 * check:imports` rejects others than lib/nest and the entries.
 */
function nestLayerOf(imports) {
  const layer = new Set();
  const belongs = (imported) => imported.startsWith('@nestjs/') || layer.has(imported);
  for (let size = -1; size < layer.size;) {
    size = layer.size;
    for (const [name, all] of imports) if (all.some(belongs)) layer.add(name);
  }
  return layer;
}

/** The core modules that modules outside of the core import, by their chunk. */
function facadesOf(imports, outside) {
  const imported = new Set([...outside].flatMap((name) => imports.get(name)));
  const facades = {};
  for (const name of imported) {
    if (imports.has(name) && !outside.has(name)) (facades[chunkOf(name)] ??= []).push(name);
  }
  return facades;
}

/** Chunks without public types, and `this` in the compiler's code for decorators. */
const EXPECTED = new Set(['EMPTY_BUNDLE', 'THIS_IS_UNDEFINED']);

/** Bundles the modules for which `isIn`. Others are imported from their chunk of the core. */
function bundle({ ending, input, facades = {}, isIn, plugins = [] }) {
  const resolver = {
    name: 'modules of the package',
    resolveId(specifier, importer) {
      if (importer === undefined || specifier.startsWith(compiled)) return specifier;
      const name = resolved(nameOf(importer, ending), specifier);
      if (name === specifier) return { id: specifier, external: true };
      return isIn(name) ? fileOf(name, ending) : { id: chunkOf(name), external: true };
    },
    load(id) {
      if (!id.startsWith(FACADE)) return null;
      const modules = facades[id.slice(FACADE.length, -ending.length)];
      return modules.map((name) => `export * from ${JSON.stringify(fileOf(name, ending))};`).join('\n');
    },
  };
  return rollup({
    input: Object.fromEntries([
      ...Object.entries(input).map(([entry, name]) => [entry, fileOf(name, ending)]),
      ...Object.keys(facades).map((chunk) => [chunk, `${FACADE}${chunk}${ending}`]),
    ]),
    plugins: [resolver, ...plugins],
    preserveEntrySignatures: 'allow-extension',
    onwarn: (warning) => {
      if (!EXPECTED.has(warning.code) && warning.plugin !== 'dts') throw new Error(warning.message);
    },
  });
}

/** Settings of every output. Names are kept: they appear in stack traces. */
const OUTPUT = {
  minifyInternalExports: false,
  hoistTransitiveImports: false,
  // As Node finds the exports of CommonJS modules for ES modules.
  externalLiveBindings: false,
  freeze: false,
};

async function write(bundled, folder, { ending, ...settings }) {
  const names = `[name]${ending}`;
  const options = { ...OUTPUT, ...settings, entryFileNames: names, chunkFileNames: names };
  const { output } = await bundled.generate(options);
  for (const { fileName, code, exports } of output) {
    if (ending === '.d.ts' && exports.length === 0) continue;
    writeTo(join(folder, fileName), ending === '.d.ts' ? allowMissingIoredis(code) : code);
  }
  return output;
}

function writeTo(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/**
 * Lets applications without ioredis compile with `skipLibCheck: false`: the options of the module name its types, which are
 * `any` there. The compiler would drop the comments from the sources.
 */
function allowMissingIoredis(types) {
  return types.replace(
    /^(?:import|export) .* from ['"]ioredis['"];$/gm,
    '// @ts-ignore: an optional peer\n$&',
  );
}

/**
 * The file from which ES modules import a part of the core, without ending. Node scans the whole text of a CommonJS module that
 * an ES module imports, for the names of its exports: ten times as long as it takes to load the part.
 */
const forEsm = (part) => part.replace(/^core/, 'exports');

function reexports(file, names) {
  const lines = names.map((name) => `exports.${name} = part.${name};\n`);
  return `'use strict';\n\nconst part = require('${file}');\n\n${lines.join('')}`;
}

/** Bundles modules or declarations into `dist/cjs` and `dist/esm`. */
async function bundleInto(dist, { ending, layer, plugins }) {
  const imports = readImports(ending);
  const programs = ending === '.js' ? PROGRAM : {};
  const outside = new Set([...layer, ...Object.values(programs)]);
  const isOfLayer = ([, name]) => layer.has(name);
  const coreEntries = Object.fromEntries(Object.entries(ENTRIES).filter((entry) => !isOfLayer(entry)));
  const nestEntries = Object.fromEntries(Object.entries(ENTRIES).filter(isOfLayer));
  const entryFiles = new Set(Object.values(ENTRIES).map((name) => fileOf(name, ending)));
  const facades = facadesOf(imports, outside);
  const common = { ending, plugins };

  const core = await bundle({
    ...common,
    input: coreEntries,
    facades,
    isIn: (name) => !outside.has(name),
  });
  const chunks = await write(core, join(dist, 'cjs'), {
    ending,
    format: 'cjs',
    manualChunks: (id) => {
      if (id.startsWith(FACADE)) return id.slice(FACADE.length, -ending.length);
      return entryFiles.has(id) ? undefined : chunkOf(nameOf(id, ending));
    },
  });
  for (const { name, exports } of chunks) {
    const names = ending === '.js' ? `{ ${exports.join(', ')} }` : '*';
    if (name in coreEntries)
      writeTo(join(dist, 'esm', name + ending), `export ${names} from '../cjs/${name}.js';\n`);
    if (ending === '.js' && name in facades)
      writeTo(join(dist, 'cjs', forEsm(name) + ending), reexports(`../${name}.js`, exports));
  }

  const isIn = (name) => outside.has(name);
  const manualChunks = (id) => (nameOf(id, ending).startsWith('nest/') ? 'nest' : undefined);
  const toCore = (place) => (id) => (id.startsWith('core/') ? `${place(id)}.js` : id);
  const commonJs = await bundle({ ...common, input: nestEntries, isIn });
  const fromCommonJs = toCore((part) => `./${part}`);
  await write(commonJs, join(dist, 'cjs'), { ending, format: 'cjs', manualChunks, paths: fromCommonJs });
  const esm = await bundle({ ...common, input: { ...nestEntries, ...programs }, isIn });
  const fromEsm = toCore((part) => `../cjs/${ending === '.js' ? forEsm(part) : part}`);
  await write(esm, join(dist, 'esm'), { ending, format: 'es', manualChunks, paths: fromEsm });
}

/** Bundles the published package. */
export async function bundlePackage(dist) {
  const layer = nestLayerOf(readImports('.js'));
  await bundleInto(dist, { ending: '.js', layer, plugins: [] });
  await bundleInto(dist, { ending: '.d.ts', layer, plugins: [dts()] });
}

/** Writes every module by itself, as CommonJS, for tools that use or change single modules. */
export async function writeUnbundled(folder) {
  const input = Object.fromEntries([...readImports('.js').keys()].map((name) => [name, name]));
  delete input[PROGRAM.cli];
  const modules = await bundle({ ending: '.js', input, isIn: () => true });
  await write(modules, folder, {
    ending: '.js',
    format: 'cjs',
    preserveModules: true,
    preserveModulesRoot: compiled,
  });
  writeTo(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
}
