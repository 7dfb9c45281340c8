/**
 * Writes the Lua scripts of `lua/` into one TypeScript module, so that bundled applications need no `.lua` files.
 *
 * The first line `-- @include name` of a script is replaced by the text of `lua/include/name.lua`; further ones are removed.
 * Comments and indentation are removed, too, since the whole text is sent whenever the server does not know its digest.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generatePage } from './generate-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const INCLUDE = /^[ \t]*--[ \t]*@include[ \t]+(\S+)[ \t]*$/gm;
const SCRIPT_NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** Comments, then string literals: text in which Lua syntax has no meaning. */
const TOKEN =
  /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g;

/** `force-release` → `forceRelease` */
function camelCase(name) {
  return name.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
}

/**
 * The names in the header of a script, from lines such as `-- KEYS[2i-1] lock  hash: …`. A script for many locks repeats
 * them for each lock, except those in lines that end with `(shared)`.
 */
function namesIn(source, list, isShared) {
  const header = source.slice(0, source.search(/^(?!--)/m));
  const lines = [...header.matchAll(new RegExp(`^-- ${list}\\[[^\\]]+\\]\\s+(\\w+)(.*)$`, 'gm'))];
  return lines.filter(([, , text]) => text.endsWith('(shared)') === isShared).map(([, name]) => name);
}

function expandIncludes(file, luaDir, chain = [], included = new Set()) {
  if (chain.includes(file)) throw new Error(`Lua files include each other: ${[...chain, file].join(' → ')}`);
  if (included.has(file)) return '';
  if (!existsSync(file)) throw new Error(`${chain.at(-1)} includes ${file}, which does not exist`);
  included.add(file);
  return readFileSync(file, 'utf8')
    .replace(/\r\n/g, '\n')
    .replace(INCLUDE, (_, name) =>
      expandIncludes(join(luaDir, 'include', `${name}.lua`), luaDir, [...chain, file], included),
    );
}

/** Removes comments, indentation and blank lines, except inside string literals. */
export function minifyLua(source) {
  const literals = [];
  const code = source.replace(TOKEN, (token) => {
    // A comment separates words as a blank does.
    if (token.startsWith('--')) return ' ';
    literals.push(token);
    return '\0';
  });
  const lines = code.split('\n').map((line) => line.trim());
  const packed = lines.filter((line) => line !== '').join('\n');
  return packed.replace(/\0/g, () => literals.shift());
}

/** The text of the generated module. The folder of Lua files may be missing or empty. */
export function renderLuaModule(luaDir) {
  const files = existsSync(luaDir) ? readdirSync(luaDir).filter((name) => name.endsWith('.lua')) : [];
  const entries = files.sort().map((name) => {
    const base = name.slice(0, -'.lua'.length);
    if (!SCRIPT_NAME.test(base)) throw new Error(`lua/${name}: name the file in lower case with hyphens`);
    const file = join(luaDir, name);
    const text = readFileSync(file, 'utf8').replace(/\r\n/g, '\n');
    const script = {
      keys: namesIn(text, 'KEYS', false),
      args: namesIn(text, 'ARGV', false),
      sharedKeys: namesIn(text, 'KEYS', true),
      sharedArgs: namesIn(text, 'ARGV', true),
      source: minifyLua(expandIncludes(file, luaDir)),
    };
    return `  ${camelCase(base)}: ${JSON.stringify(script)},\n`;
  });
  const body = entries.length === 0 ? '{}' : `{\n${entries.join('')}}`;
  return `// Generated from lua/*.lua by .scripts/generate-lua.mjs: change those files, not this one.\nexport const luaScripts = ${body} as const;\n`;
}

/** Writes the module. An unchanged module keeps its time stamp: a new one would cause a rebuild. */
export function generateLua({ cwd = root } = {}) {
  const target = join(cwd, 'lib/stores/redis/scripts/lua-source.generated.ts');
  const text = renderLuaModule(join(cwd, 'lua'));
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

// Lint and type check run this file, since they need all generated modules.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  generateLua();
  await generatePage();
}
