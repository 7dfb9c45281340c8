/**
 * `npm run api`: writes the public declarations of every entry to `docs/internals/api/`, without comments. With `--check`, compares
 * them, for CI. Builds the package first if that is older than its sources. `@microsoft/api-extractor` leaves out types that are not
 * exported by name, or includes the whole engine through constructors.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import ts from 'typescript';
import { ensureBuild } from './setup.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const folder = join(root, 'docs/internals/api');

/** The declaration file of each entry of the package, by the name of its report. */
function entries() {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return Object.entries(exports).flatMap(([entry, targets]) => {
    const types = targets.require?.types;
    return types === undefined ? [] : [[entry === '.' ? 'index' : entry.slice(2), join(root, types)]];
  });
}

/** In declarations they have no types. */
const PRIVATE_MEMBERS = /^ +(?:private |#private).*\n/gm;

/**
 * The report of each entry: what it exports, and under "not exported" the types of the package that these mention.
 *
 * @param {readonly (readonly [name: string, file: string])[]} files the declaration file of each entry
 */
export function reportsOf(files) {
  const program = ts.createProgram(
    files.map(([, file]) => file),
    {
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      skipLibCheck: true,
      experimentalDecorators: true,
    },
  );
  const checker = program.getTypeChecker();
  const printer = ts.createPrinter({ removeComments: true });
  const own = dirname(files[0][1]).replaceAll(sep, '/');

  const resolved = (symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  /** Its statements in the package; members, parameters and the like are part of another one. */
  const statementsOf = (symbol) =>
    (symbol.declarations ?? [])
      .filter((node) => node.getSourceFile().fileName.startsWith(own))
      // A variable is declared within a statement.
      .map((node) => (ts.isVariableDeclaration(node) ? node.parent.parent : node))
      .filter((node) => ts.isStatement(node) && ts.isSourceFile(node.parent));
  const textOf = (symbol) =>
    statementsOf(symbol)
      .map((node) => printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()))
      .map((text) => text.replace(/^(export )?(declare )?/, '').replace(PRIVATE_MEMBERS, ''))
      .join('\n');
  /** Not those of constructors: Nest constructs what it injects, out of parts that are not public. */
  const mentionedBy = (symbol) => {
    const found = new Set();
    const visit = (node) => {
      if (ts.isConstructorDeclaration(node)) return;
      if (ts.isIdentifier(node)) {
        const mentioned = checker.getSymbolAtLocation(node);
        if (mentioned !== undefined) found.add(resolved(mentioned));
      }
      ts.forEachChild(node, visit);
    };
    for (const node of statementsOf(symbol)) visit(node);
    return found;
  };

  return new Map(
    files.map(([name, file]) => {
      const module = checker.getSymbolAtLocation(program.getSourceFile(file));
      const exported = new Map(
        checker.getExportsOfModule(module).map((symbol) => [resolved(symbol), symbol.getName()]),
      );
      const others = new Set();
      const pending = [...exported.keys()];
      for (const symbol of pending) {
        for (const mentioned of mentionedBy(symbol)) {
          if (exported.has(mentioned) || others.has(mentioned) || statementsOf(mentioned).length === 0)
            continue;
          others.add(mentioned);
          pending.push(mentioned);
        }
      }
      const sections = [...exported]
        .sort(([, one], [, other]) => (one < other ? -1 : 1))
        .map(([symbol, as]) => `${symbol.getName() === as ? '' : `as ${as}: `}${textOf(symbol)}\n`);
      const rest = [...others].map(textOf).sort();
      if (rest.length > 0)
        sections.push('---- not exported, but mentioned above ----\n', ...rest.map((text) => `${text}\n`));
      return [name, sections.join('\n')];
    }),
  );
}

function main(args) {
  ensureBuild();
  const reports = new Map([...reportsOf(entries())].map(([name, text]) => [`${name}.txt`, text]));
  const known = existsSync(folder) ? readdirSync(folder) : [];
  const at = (file) => join(folder, file);
  const changed = [...new Set([...known, ...reports.keys()])].filter(
    (file) => !known.includes(file) || reports.get(file) !== readFileSync(at(file), 'utf8'),
  );
  if (args.includes('--check')) {
    if (changed.length === 0) return 0;
    console.error(
      `The public API is not the one in ${changed.map((file) => relative(root, at(file))).join(', ')}. ` +
        'If that is meant, run "npm run api", and commit what it writes.',
    );
    return 1;
  }
  mkdirSync(folder, { recursive: true });
  for (const file of changed) {
    const text = reports.get(file);
    if (text === undefined) rmSync(at(file));
    else writeFileSync(at(file), text);
  }
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.exitCode = main(process.argv.slice(2));
