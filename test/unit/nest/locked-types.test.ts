import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const fixture = (name: string): string => fileURLToPath(new URL(`locked-types/${name}.ts`, import.meta.url));

interface CompileError {
  readonly line: number;
  readonly text: string;
}

/** Compiles these texts with the strictest settings. */
function compileErrors(files: ReadonlyMap<string, string>): Map<string, CompileError[]> {
  const configFile = fileURLToPath(new URL('../../../tsconfig.json', import.meta.url));
  const config = ts.getParsedCommandLineOfConfigFile(
    configFile,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
        throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'));
      },
    },
  );
  const options = config?.options ?? {};
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
      const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
      return [
        name,
        found.map(({ start, messageText }) => ({
          line: (source?.getLineAndCharacterOfPosition(start ?? 0).line ?? 0) + 1,
          text: ts.flattenDiagnosticMessageText(messageText, '\n'),
        })),
      ];
    }),
  );
}

/** The lines that a fixture expects to be rejected. */
function expectedLines(text: string): number[] {
  return text.split('\n').flatMap((line, index) => (line.includes('@ts-expect-error') ? [index + 2] : []));
}

describe('types', () => {
  const accepted = fixture('accepted');
  const refusing = ['refused', 'module-options'].map((name) => {
    const file = fixture(name);
    return { name, file, bare: file.replace('.ts', '-bare.ts'), text: readFileSync(file, 'utf8') };
  });
  let errors: Map<string, CompileError[]>;

  beforeAll(() => {
    errors = compileErrors(
      new Map([
        [accepted, readFileSync(accepted, 'utf8')],
        ...refusing.flatMap(({ file, bare, text }): [string, string][] => [
          [file, text],
          // The same lines without the expectations, so that each error is reported.
          [bare, text.replace(/@ts-expect-error/g, 'expects an error:')],
        ]),
      ]),
    );
  });

  /** The compiler messages for the line below a comment of a fixture. */
  const messageBelow = (name: string, comment: string): string => {
    const { bare = '', text = '' } = refusing.find((fixture) => fixture.name === name) ?? {};
    const line = text.split('\n').findIndex((content) => content.includes(`@ts-expect-error ${comment}`)) + 2;
    const found = errors.get(bare)?.filter((error) => error.line === line) ?? [];
    return found.map((error) => error.text).join('\n');
  };

  it('B39, B31, B34: functions with the parameters of the method, and awaitable methods, compile', () => {
    expect(errors.get(accepted)).toEqual([]);
  });

  it.each(refusing)(
    'every line of $name that must not compile is rejected, and no other',
    ({ file, bare, text }) => {
      // An expectation without an error is an error too.
      expect(errors.get(file)).toEqual([]);
      const expected = expectedLines(text);
      expect(expected.length).toBeGreaterThan(9);
      const lines = errors.get(bare)?.map(({ line }) => line) ?? [];
      expect([...new Set(lines)].sort((a, b) => a - b)).toEqual(expected);
    },
  );

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
  ])('B31, B36: the message names the cause: %s', (comment, message) => {
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
