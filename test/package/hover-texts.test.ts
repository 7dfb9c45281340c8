import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const lib = join(import.meta.dirname, '../../lib');
const ENTRIES = ['', 'testing', 'dashboard', 'health', 'leader', 'prometheus', 'opentelemetry'].concat(
  ['etcd', 'postgres', 'zookeeper'].map((store) => `stores/${store}`),
);

/** The hover text that an editor shows for every export of the package and its members. */
function hoverTexts(): ReadonlyMap<string, string> {
  const files = ENTRIES.map((entry) => join(lib, entry, 'index.ts'));
  const options = { target: ts.ScriptTarget.ES2022, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram(files, { ...options, module: ts.ModuleKind.NodeNext, strict: true });
  const checker = program.getTypeChecker();
  const texts = new Map<string, string>();
  const add = (name: string, symbol: ts.Symbol): void => {
    const tags = symbol
      .getJsDocTags(checker)
      .map((tag) => `@${tag.name} ${ts.displayPartsToString(tag.text)}`);
    texts.set(name, [ts.displayPartsToString(symbol.getDocumentationComment(checker)), ...tags].join('\n'));
  };
  for (const file of files) {
    const source = program.getSourceFile(file);
    const exported = source && checker.getSymbolAtLocation(source);
    for (const symbol of exported ? checker.getExportsOfModule(exported) : []) {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      add(symbol.name, target);
      target.members?.forEach((member) => {
        add(`${symbol.name}.${member.name}`, member);
      });
    }
  }
  return texts;
}

describe('texts that editors show', () => {
  it('contain no comment syntax', () => {
    const texts = [...hoverTexts()];
    expect(texts.filter(([, text]) => text.trim() !== '').length).toBeGreaterThan(200);
    const marked = texts.filter(([, text]) => /\\@|^@(?:link|Locked)\b|\{\s*\|/m.test(text));
    expect(marked).toEqual([]);
    expect(texts.find(([name]) => name === 'Locked')?.[1]).toContain('`@Locked({ key: ');
  });
});
