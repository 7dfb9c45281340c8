import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const fixture = (name: string): string => fileURLToPath(new URL(`locked-types/${name}.ts`, import.meta.url));

interface CompileError {
  readonly line: number;
  readonly text: string;
}

/** The errors of these texts with the strictest settings. */
function compileErrors(files: ReadonlyMap<string, string>): Map<string, CompileError[]> {
  const configFile = fileURLToPath(new URL('../../../tsconfig.json', import.meta.url));
  const { options } = ts.parseJsonConfigFileContent(
    ts.readConfigFile(configFile, ts.sys.readFile).config,
    ts.sys,
    fileURLToPath(new URL('../../..', import.meta.url)),
  );
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, ...others) => {
    const text = files.get(name);
    return text === undefined
      ? read(name, ...others)
      : ts.createSourceFile(name, text, ts.ScriptTarget.ES2022, true);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  return new Map(
    [...files.keys()].map((name) => {
      const source = program.getSourceFile(name);
      return [
        name,
        program.getSemanticDiagnostics(source).map(({ start, messageText }) => ({
          line: (source?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0) + 1,
          text: ts.flattenDiagnosticMessageText(messageText, '\n'),
        })),
      ];
    }),
  );
}

/** `npm run typecheck` compiles the fixtures: each expected error occurs there, and no other. */
describe('the errors of types', () => {
  const texts = new Map(
    ['refused', 'module-options'].map((name) => [name, readFileSync(fixture(name), 'utf8')]),
  );
  let errors: Map<string, CompileError[]>;

  beforeAll(() => {
    errors = compileErrors(
      new Map(
        // Without the expectations, so that each error is reported.
        [...texts].map(([name, text]) => [
          fixture(name),
          text.replace(/@ts-expect-error/g, 'expects an error:'),
        ]),
      ),
    );
  });

  /** The compiler messages for the line below a comment of a fixture. */
  const messageBelow = (name: string, comment: string): string => {
    const lines = texts.get(name)?.split('\n') ?? [];
    const line = lines.findIndex((content) => content.includes(`@ts-expect-error ${comment}`)) + 2;
    const found = errors.get(fixture(name))?.filter((error) => error.line === line) ?? [];
    return found.map((error) => error.text).join('\n');
  };

  it.each([
    ["another type than the method's parameter", 'the key function must take the parameters of the method'],
    ["onBusy gets the method's parameters too", 'onBusy must take the parameters of the method'],
    ['the method has no second parameter', 'onBusy must take the parameters of the method'],
    [
      'skipped, it resolves to undefined',
      "onBusy: 'skip' resolves to undefined, so the method must return Promise<void> or Promise<T | undefined>",
    ],
    ["another type than the method's result", 'onBusy must give what the method resolves to'],
    ['another type than the values of the stream', 'onBusy must give what the method resolves to'],
    ['the class has no such property', "Property 'suffix' does not exist on type 'Refused'"],
    ['no such property for a computed option', "Property 'suffix' does not exist on type 'Refused'"],
    ['the label takes another type', 'functions that compute options must take the parameters of the method'],
    [
      'the method has no parameter for the wait time',
      'functions that compute options must take the parameters of the method',
    ],
    ['nor for onBusy', "Property 'suffix' does not exist on type 'Refused'"],
  ])('B31, B34, B36, B39: the message names the cause: %s', (comment, message) => {
    expect(messageBelow('refused', comment)).toContain(message);
    expect(messageBelow('refused', comment)).not.toContain('No overload');
  });

  it.each([
    ['no readers with a limit', 'limit goes without mode: leave one of them out'],
    ['no readers with a limit, by a call', 'limit goes without mode: leave one of them out'],
    ['no exclusive lock with a limit, by a call', 'limit goes without mode: leave one of them out'],
    ['no retry in the queue', 'retry goes without fair: leave one of them out'],
  ])('the message names the cause: %s', (comment, message) => {
    expect(messageBelow('refused', comment)).toContain(message);
    expect(messageBelow('refused', comment)).not.toMatch(/'undefined'|Property 'limit'/);
  });

  it.each([
    ['name beside useFactory', "Type 'string' is not assignable to type"],
    ['isGlobal beside useFactory', "Type 'boolean' is not assignable to type"],
    ['instance of the health indicator beside useFactory', "Type 'string' is not assignable to type"],
    ['instance of the election beside useFactory', "Type 'string' is not assignable to type"],
    ['imports of the lock dashboard beside useFactory', "Types of property 'imports' are incompatible"],
  ])('the message says where the option belongs: %s', (comment, type) => {
    const message = messageBelow('module-options', comment);
    expect(message).toContain(type);
    expect(message).toContain('goes beside useFactory');
  });

  it.each([
    'the variable may not be set',
    'the same beside other options',
    'the same from a factory',
    'the same for one of several servers',
  ])('B1: the message names the URL that may be undefined: %s', (comment) => {
    const message = messageBelow('module-options', comment);
    expect(message).toContain("Type 'string | undefined' is not assignable to type 'RedisConnection'");
    expect(message).not.toContain("'store'");
  });
});
