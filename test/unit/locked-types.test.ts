import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const fixture = (name: string): string => fileURLToPath(new URL(`locked-types/${name}.ts`, import.meta.url));

interface Complaint {
  readonly line: number;
  readonly text: string;
}

/** Compiles as a user of the strictest settings would, with one file's text replaced where a test wants that. */
function complaintsAbout(files: ReadonlyMap<string, string>): Map<string, Complaint[]> {
  const configFile = fileURLToPath(new URL('../../tsconfig.json', import.meta.url));
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

describe('types of @Locked', () => {
  const accepted = fixture('accepted');
  const refused = fixture('refused');
  const bare = refused.replace('refused.ts', 'refused-bare.ts');
  const text = readFileSync(refused, 'utf8');
  let complaints: Map<string, Complaint[]>;

  beforeAll(() => {
    complaints = complaintsAbout(
      new Map([
        [accepted, readFileSync(accepted, 'utf8')],
        [refused, text],
        // The same without the comments that expect errors: line for line, so that each error shows itself.
        [bare, text.replace(/@ts-expect-error/g, 'expects an error:')],
      ]),
    );
  }, 120_000);

  it('B31, B34: key functions with the parameters of the method, and methods that can be waited for, compile', () => {
    expect(complaints.get(accepted)).toEqual([]);
  });

  it('B31, B34: every line that has to be refused is refused, and nothing else', () => {
    // An expectation without an error is an error too.
    expect(complaints.get(refused)).toEqual([]);
    const expected = text
      .split('\n')
      .flatMap((line, index) => (line.includes('@ts-expect-error') ? [index + 2] : []));
    expect(expected.length).toBeGreaterThan(10);
    const lines = complaints.get(bare)?.map(({ line }) => line) ?? [];
    expect([...new Set(lines)].sort((a, b) => a - b)).toEqual(expected);
  });

  it('B31: a key function that does not fit is told so', () => {
    const messages = complaints.get(bare)?.map((complaint) => complaint.text) ?? [];
    expect(
      messages.some((message) => message.includes('the key function must take the parameters of the method')),
    ).toBe(true);
  });
});
