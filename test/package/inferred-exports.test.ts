import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, jest } from '@jest/globals';
import ts from 'typescript';

jest.setTimeout(120_000);

const root = join(import.meta.dirname, '../..');
/** A virtual application that has the package in its `node_modules`. */
const APP = join(root, 'test/package/virtual-app');
const MAIN = join(APP, 'main.mts');
const INSTALLED = join(APP, 'node_modules/nestjs-distributed-lock');
const { exports: entries } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  exports: Record<string, unknown>;
};

/** What matters in the `tsconfig.json` of a new Nest application. */
const OPTIONS: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  types: ['node'],
  declaration: true,
  strict: true,
  skipLibCheck: true,
};

/** Files that all programs have in common. */
const parsed = new Map<string, ts.SourceFile | undefined>();

interface Compiled {
  readonly program: ts.Program;
  readonly source: ts.SourceFile;
}

/** Compiles one module of the virtual application. */
function compile(text: string): Compiled {
  // Without a manifest of its own, the application would be part of the package.
  const files = new Map([
    [MAIN, text],
    [join(APP, 'package.json'), '{ "name": "application" }'],
  ]);
  const ofPackage = new RegExp(`^${INSTALLED}(?=/dist(/|$)|/package\\.json$)`);
  const real = (name: string): string => name.replace(ofPackage, root);
  const host = ts.createCompilerHost(OPTIONS);
  const { fileExists, readFile, directoryExists, realpath, getSourceFile } = host;
  host.fileExists = (name) => files.has(name) || fileExists.call(host, real(name));
  host.readFile = (name) => files.get(name) ?? readFile.call(host, real(name));
  host.directoryExists = (name) =>
    INSTALLED.startsWith(name) || directoryExists?.call(host, real(name)) === true;
  host.realpath = (name) => (name.startsWith(APP) ? name : (realpath?.call(host, name) ?? name));
  host.getSourceFile = (name, settings) => {
    if (name === MAIN) return ts.createSourceFile(name, text, settings, true);
    if (!parsed.has(name)) parsed.set(name, getSourceFile.call(host, name, settings));
    return parsed.get(name);
  };
  const program = ts.createProgram([MAIN], OPTIONS, host);
  const source = program.getSourceFile(MAIN);
  if (source === undefined) throw new Error('the virtual application is missing');
  return { program, source };
}

/** The entries from which others re-export types: whoever calls their methods imports these. */
const SHARED = ['nestjs-distributed-lock/store', 'nestjs-distributed-lock'];

/** A module with an exported constant for each property of an entry's types, and for what each function and method returns. */
function inferredExports(specifier: string): string {
  const others = SHARED.slice(0, SHARED.includes(specifier) ? SHARED.indexOf(specifier) : undefined);
  const { program, source } = compile([specifier, ...others].map((name) => `import '${name}';`).join('\n'));
  const checker = program.getTypeChecker();
  const [exported, ...elsewhere] = source.statements.map((statement) => {
    const module =
      ts.isImportDeclaration(statement) && checker.getSymbolAtLocation(statement.moduleSpecifier);
    if (!module) throw new Error(`${statement.getText()} finds nothing`);
    return checker.getExportsOfModule(module);
  });
  const isShared = (name: string): boolean => elsewhere.flat().some((symbol) => symbol.name === name);

  const expressions: string[] = [];
  const add = (expression: string, type: ts.Type): void => {
    const isCalled = type.getCallSignatures().length > 0;
    // Wrong arguments don't matter: the result has its type.
    expressions.push(isCalled ? `${expression}(...([] as unknown as [never]))` : expression);
  };
  const isPublic = (member: ts.Declaration): boolean =>
    member.getSourceFile().fileName.startsWith(INSTALLED) &&
    (ts.getCombinedModifierFlags(member) & ts.ModifierFlags.NonPublicAccessibilityModifier) === 0;
  const addMembers = (expression: string, type: ts.Type): void => {
    for (const member of type.getApparentProperties()) {
      if (!/^\w+$/.test(member.name) || member.declarations?.some(isPublic) !== true) continue;
      add(`${expression}.${member.name}`, checker.getTypeOfSymbol(member));
    }
  };
  for (const symbol of exported ?? []) {
    const { name } = symbol;
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    if (target.flags & ts.SymbolFlags.Value) {
      add(`entry.${name}`, checker.getTypeOfSymbol(target));
      addMembers(`entry.${name}`, checker.getTypeOfSymbol(target));
    }
    if (target.flags & ts.SymbolFlags.Type && !isShared(name)) {
      addMembers(`(null as unknown as entry.${name})`, checker.getDeclaredTypeOfSymbol(target));
    }
  }
  const constants = expressions.map((expression, n) => `export const v${String(n)} = ${expression};`);
  return [`import * as entry from '${specifier}';`, ...constants].join('\n');
}

it.each(Object.keys(entries).filter((entry) => entry !== './package.json'))(
  '%s: applications with declarations may export whatever it returns, without writing the type',
  (entry) => {
    const text = inferredExports(join('nestjs-distributed-lock', entry));
    const { program, source } = compile(text);
    const lines = text.split('\n');
    const errors = program.getDeclarationDiagnostics(source).map(({ start, messageText }) => {
      const line = lines[source.getLineAndCharacterOfPosition(start).line] ?? '';
      return `${line} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
    expect(lines.length).toBeGreaterThan(1);
    expect(errors).toEqual([]);
  },
);
