import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { API_FOLDER, pageFiles } from '../../docs/.vitepress/pages.mjs';
import { exampleNames } from '../../.scripts/applications/examples.mjs';

const root = join(import.meta.dirname, '../..');
/** A virtual folder for the samples, inside the package so that they can import it by its name. */
const PLACE = join(root, 'test/package/samples');

/** A fenced TypeScript block of a page, as a module. */
export interface Sample {
  readonly page: string;
  /** Line number of the first line of the block, from 1. */
  readonly line: number;
  /** The module name by which other samples of the page import it, if any. */
  readonly name: string | undefined;
  /** The file of an example that the block quotes, if any. */
  readonly from: string | undefined;
  /** Declarations from a hidden comment, which the reader knows from the surrounding text. */
  readonly given: string;
  readonly code: string;
}

/** The pages that users read. Those in Chinese have the samples of the English ones: translations.test.ts. */
export function pages(): string[] {
  // Some are there only after the site was built: those of its dependencies, and the reference that TypeDoc writes.
  const isElsewhere = (name: string): boolean =>
    [`${API_FOLDER}/`, 'docs/zh/'].some((folder) => name.startsWith(folder));
  const names = pageFiles().filter((name) => name.startsWith('docs/') && !isElsewhere(name));
  const ofExamples = exampleNames().map((name) => join('examples', name, 'README.md'));
  return ['README.md', 'sample-app/README.md', 'examples/README.md', ...ofExamples, ...names.sort()];
}

/**
 * The samples of a page. HTML comments before a sample add information for the compiler: `<!-- file: name.ts -->` is the
 name by which others import it, `<!-- given: … -->` has additional declarations, and `<!-- from: examples/… -->` is the file
 that the sample quotes.
 */
export function samplesOf(page: string): Sample[] {
  const text = readFileSync(join(root, page), 'utf8');
  const block = /((?:<!--(?:(?!-->)[^])*-->\s*)*)^( *)```(?:ts|typescript)\n([^]*?)^ *```$/gm;
  return [...text.matchAll(block)].map((match) => {
    const [, comments = '', indent = '', code = ''] = match;
    const before = text.slice(0, match.index + match[0].indexOf('```'));
    return {
      page,
      line: before.split('\n').length + 1,
      name: /<!-- file: (\S+) -->/.exec(comments)?.[1],
      from: /<!-- from: (\S+) -->/.exec(comments)?.[1],
      given: [...comments.matchAll(/<!-- given:([^]*?)-->/g)]
        .map(([, given = '']) => given.trim())
        .join('\n'),
      code: indent === '' ? code : code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}

/** Whether the file contains the sample, with any indentation. */
export function isQuoted({ from, code }: Sample): boolean {
  if (from === undefined) return false;
  const lines = readFileSync(join(root, from), 'utf8').split('\n');
  const indents = new Set(lines.map((line) => /^ */.exec(line)?.[0] ?? ''));
  const quoteWith = (indent: string): string => code.replaceAll(/^(?=.)/gm, indent);
  return [...indents].some((indent) => `\n${lines.join('\n')}`.includes(`\n${quoteWith(indent)}`));
}

/** The compiler errors of the samples, each with its line in the page. Quotes are compiled with the file that they are from. */
export function compileErrors(all: readonly Sample[]): string[] {
  const samples = all.filter(({ from }) => from === undefined);
  const files = new Map<string, Sample>();
  samples.forEach((sample, index) => {
    const folder = join(PLACE, sample.page.replaceAll(/[/.]/g, '-'));
    files.set(join(folder, sample.name ?? `sample-${String(index)}.ts`), sample);
  });
  if (files.size !== samples.length) return ['two samples of a page have the same name'];
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2022.d.ts', 'lib.esnext.disposable.d.ts'],
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    moduleDetection: ts.ModuleDetectionKind.Force,
    types: ['node'],
    strict: true,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
    esModuleInterop: true,
    skipLibCheck: true,
    noEmit: true,
  };
  const textOf = ({ given, code }: Sample): string => (given === '' ? code : `${given}\n${code}`);
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, directoryExists } = host;
  host.fileExists = (name) => files.has(name) || fileExists.call(host, name);
  host.directoryExists = (name) =>
    [...files.keys()].some((file) => file.startsWith(`${name}/`)) ||
    directoryExists?.call(host, name) === true;
  host.readFile = (name) => {
    const sample = files.get(name);
    return sample === undefined ? readFile.call(host, name) : textOf(sample);
  };
  host.getSourceFile = (name, version) => {
    const text = host.readFile(name);
    return text === undefined ? undefined : ts.createSourceFile(name, text, version, true);
  };
  const program = ts.createProgram(
    [join(root, 'test/package/sample-packages.d.ts'), ...files.keys()],
    options,
    host,
  );
  return [...files].flatMap(([name, { page, line, given }]) => {
    const source = program.getSourceFile(name);
    const found = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
    const above = given === '' ? 0 : given.split('\n').length;
    return found.map(({ start = 0, messageText }) => {
      const at = line + (source?.getLineAndCharacterOfPosition(start).line ?? 0) - above;
      return `${page}:${String(at)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`;
    });
  });
}
