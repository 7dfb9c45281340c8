/**
 * Breaks the code at random places, one at a time, and runs the tests that cover it: a change that no test notices is a gap in
 * the tests, or code that does nothing.
 *
 *     npm run mutate                          20 places in each area
 *     npm run mutate -- engine --places 100   one area: engine, ordered, scripts or nest
 *     npm run mutate -- --seed 7              the same places again
 *
 * Works on a copy of the checkout, changed files included. Needs what `npm test` has set up.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { Random } from '../test/soak/random.mjs';
import { generatePage } from './generate-page.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What is broken, and its tests: the next group runs only if the one before noticed nothing. */
const AREAS = {
  engine: {
    code: /^lib\/engine\/.*\.ts$/,
    tests: [
      ['test/contract/(memory|random-calls).test.ts', 'test/unit/(engine|common)/'],
      ['test/contract/redis.test.ts'],
      ['test/faults/(hand-over|re-entry|redis-faults|blocked-loop|advice|network-faults).test.ts'],
    ],
  },
  ordered: {
    code: /^lib\/stores\/ordered\/.*\.ts$/,
    tests: [
      ['test/contract/ordered.test.ts', 'test/unit/stores/(ordered|etcd|zookeeper)/'],
      ['test/contract/(etcd|zookeeper).test.ts'],
      ['test/faults/(etcd|zookeeper)-(faults|data|deleted|turns).test.ts'],
    ],
  },
  scripts: {
    code: /^lua\/.*\.lua$/,
    tests: [
      ['test/contract/(redis|redisson).test.ts'],
      ['test/contract/(quorum|redis-cluster).test.ts'],
      ['test/faults/(hand-over|late-requests|deleted-data|server-clock|batches|commands).test.ts'],
    ],
  },
  nest: {
    code: /^lib\/nest\/.*\.ts$/,
    tests: [
      ['test/unit/nest/', 'test/integration/nest/'],
      ['test/integration/compatibility/(graphql|http|microservice|websocket|scopes|shutdown).test.ts'],
    ],
  },
};

/** A mutant that hangs is noticed, too. */
const SLOWEST = 5;

const SWAPPED = {
  '&&': '||',
  '||': '&&',
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
};

const SWAPPED_IN_LUA = [
  [/ == /g, ' ~= '],
  [/ ~= /g, ' == '],
  [/ <= /g, ' < '],
  [/ < /g, ' <= '],
  [/ >= /g, ' > '],
  [/ > /g, ' >= '],
  [/ and /g, ' or '],
  [/ or /g, ' and '],
  [/\bnot /g, ''],
  [/\btrue\b/g, 'false'],
  [/\bfalse\b/g, 'true'],
  [/^\s*(?:redis\.call\(.*\)|[a-z_]+\([^=]*\))$/g, ''],
];

/** @typedef {{ file: string, start: number, end: number, to: string }} Change */

/** @returns {Change[]} */
function changesOf(file, text) {
  return file.endsWith('.lua') ? changesInLua(file, text) : changesInTypeScript(file, text);
}

function changesInLua(file, text) {
  const changes = [];
  let lineStart = 0;
  for (const line of text.split('\n')) {
    const code = line.replace(/--.*/, '');
    for (const [from, to] of SWAPPED_IN_LUA) {
      for (const { 0: found, index } of code.matchAll(from)) {
        const start = lineStart + index;
        changes.push({ file, start, end: start + found.length, to });
      }
    }
    lineStart += line.length + 1;
  }
  return changes;
}

function changesInTypeScript(file, text) {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const changes = [];
  const add = (node, to) => changes.push({ file, start: node.getStart(), end: node.end, to });
  const visit = (node) => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isImportDeclaration(node)) return;
    if (ts.isBinaryExpression(node)) {
      const to = SWAPPED[node.operatorToken.getText()];
      if (to !== undefined) add(node.operatorToken, to);
    } else if (ts.isIfStatement(node)) add(node.expression, `!(${node.expression.getText()})`);
    else if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
      add(node, node.operand.getText());
    else if (ts.isConditionalExpression(node)) {
      const [condition, yes, no] = [node.condition, node.whenFalse, node.whenTrue].map((each) =>
        each.getText(),
      );
      add(node, `${condition} ? ${yes} : ${no}`);
    } else if (ts.isExpressionStatement(node) && ts.isCallExpression(node.expression)) {
      if (node.expression.expression.kind !== ts.SyntaxKind.SuperKeyword) add(node, ';');
    } else if (node.kind === ts.SyntaxKind.TrueKeyword) add(node, 'false');
    else if (node.kind === ts.SyntaxKind.FalseKeyword) add(node, 'true');
    ts.forEachChild(node, visit);
  };
  visit(source);
  return changes;
}

async function copyCheckout(folder) {
  const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
  const files = execFileSync('git', list, { cwd: root, encoding: 'utf8' }).trim().split('\n');
  for (const file of files) {
    if (/^(examples|bench\/results)\//.test(file)) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file), { force: true });
  }
  // Processes that tests start run the unchanged build.
  for (const name of ['node_modules', 'dist', 'build']) symlinkSync(join(root, name), join(folder, name));
  await generatePage({ cwd: folder });
  return files;
}

/** Whether the tests pass. */
function passes(folder, tests, timeout) {
  const run = (...args) =>
    spawnSync(process.execPath, args, { cwd: folder, timeout, stdio: 'ignore' }).status === 0;
  const flags = ['--experimental-vm-modules', 'node_modules/jest/bin/jest.js', '--bail', '--silent'];
  const cache = ['--cacheDirectory', join(folder, '.jest-cache')];
  return run('.scripts/generate-lua.mjs') && run(...flags, ...cache, ...tests);
}

/** How long the tests may take, ms. They have to pass on the unchanged code. */
function limitOf(folder, tests) {
  const started = performance.now();
  if (!passes(folder, tests)) throw new Error(`${tests.join(' ')}: failed on the unchanged code`);
  return Math.ceil((performance.now() - started) * SLOWEST + 30_000);
}

/** @returns {{ survivors: string[], count: number }} */
function mutate(folder, files, { code, tests }, places, random) {
  const textOf = (file) => readFileSync(join(folder, file), 'utf8');
  const all = files.filter((file) => code.test(file)).flatMap((file) => changesOf(file, textOf(file)));
  const limits = new Map();
  const survivors = [];
  const count = Math.min(places, all.length);
  for (let done = 0; done < count; done += 1) {
    const [change] = all.splice(random.between(0, all.length - 1), 1);
    const { file, start, end, to } = change;
    const text = textOf(file);
    const survives = tests.every((group) => {
      const limit = limits.get(group) ?? limitOf(folder, group);
      limits.set(group, limit);
      writeFileSync(join(folder, file), text.slice(0, start) + to + text.slice(end));
      const passed = passes(folder, group, limit);
      writeFileSync(join(folder, file), text);
      return passed;
    });
    const line = text.slice(0, start).split('\n').length;
    const where = `${file}:${line}  ${text.slice(start, end)} → ${to || '(nothing)'}`;
    console.log(
      `${done + 1}/${count}  ${survives ? 'SURVIVED' : 'noticed '}  ${where.replace(/\s*\n\s*/g, ' ')}`,
    );
    if (survives) survivors.push(where);
  }
  return { survivors, count };
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { places: { type: 'string', default: '20' }, seed: { type: 'string', default: '1' } },
});
const unknown = positionals.filter((name) => !(name in AREAS));
if (unknown.length > 0) {
  console.error(`There is no area "${unknown[0]}": use ${Object.keys(AREAS).join(', ')}.`);
  process.exit(2);
}
const folder = mkdtempSync(join(tmpdir(), 'lock-mutate-'));
try {
  const files = await copyCheckout(folder);
  for (const name of positionals.length > 0 ? positionals : Object.keys(AREAS)) {
    console.log(`\n${name}, seed ${values.seed}`);
    const { survivors, count } = mutate(folder, files, AREAS[name], +values.places, new Random(+values.seed));
    console.log(`${name}: ${count - survivors.length} of ${count} noticed`);
    for (const each of survivors) console.log(`  ${each}`);
  }
} finally {
  rmSync(folder, { recursive: true, maxRetries: 5 });
}
