/**
 * Writes the Lua scripts of `lua/` into one TypeScript module, so that they reach the user even when an
 * application is bundled into a single file and no `.lua` file lies next to it.
 *
 * A line `-- @include name` stands for the text of `lua/include/name.lua`, where it comes first in a script. Comments
 * and indentation are dropped: the server receives a script's whole text whenever it does not know its digest.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { generatePageIfPossible } from './generate-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const INCLUDE = /^[ \t]*--[ \t]*@include[ \t]+(\S+)[ \t]*$/gm;
const SCRIPT_NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** What may start at a position where the end of a token matters: comments first, then strings. */
const TOKEN =
  /--\[(=*)\[[^]*?\]\1\]|--[^\n]*|\[(=*)\[[^]*?\]\2\]|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'/g;

/** `force-release` → `forceRelease` */
function camelCase(name) {
  return name.replace(/-([a-z0-9])/g, (_, letter) => letter.toUpperCase());
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

/** Removes comments, indentation and blank lines, and leaves everything inside string literals as it is. */
export function minifyLua(source) {
  const literals = [];
  const code = source.replace(TOKEN, (token) => {
    // A comment separates two words as a blank does.
    if (token.startsWith('--')) return ' ';
    literals.push(token);
    return '\0';
  });
  const lines = code.split('\n').map((line) => line.trim());
  const packed = lines.filter((line) => line !== '').join('\n');
  return packed.replace(/\0/g, () => literals.shift());
}

/** The text of the generated module for a folder of Lua files; the folder may be missing or empty. */
export function renderLuaModule(luaDir) {
  const files = existsSync(luaDir) ? readdirSync(luaDir).filter((name) => name.endsWith('.lua')) : [];
  const entries = files.sort().map((name) => {
    const base = name.slice(0, -'.lua'.length);
    if (!SCRIPT_NAME.test(base)) throw new Error(`lua/${name}: name the file in lower case with hyphens`);
    return `  ${camelCase(base)}: ${JSON.stringify(minifyLua(expandIncludes(join(luaDir, name), luaDir)))},\n`;
  });
  const body = entries.length === 0 ? '{}' : `{\n${entries.join('')}}`;
  return `// Generated from lua/*.lua by .scripts/generate-lua.mjs: change those files, not this one.\nexport const luaSource = ${body} as const;\n`;
}

/** Writes the module; an unchanged one keeps its time stamp, so that nothing is rebuilt because of it. */
export function generateLua({ cwd = root } = {}) {
  const target = join(cwd, 'lib/stores/redis/scripts/lua-source.generated.ts');
  const text = renderLuaModule(join(cwd, 'lua'));
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

/** What is checked before a build needs all that is generated. */
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  generateLua();
  await generatePageIfPossible();
}
