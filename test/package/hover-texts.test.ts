import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
/** The entries of the package, with their folders in lib. */
const ENTRIES = {
  index: '',
  store: 'stores/port',
  ...Object.fromEntries(
    ['testing', 'dashboard', 'health', 'leader', 'prometheus', 'opentelemetry'].map((name) => [name, name]),
  ),
  ...Object.fromEntries(
    ['etcd', 'postgres', 'redisson', 'zookeeper'].map((name) => [name, `stores/${name}`]),
  ),
};
const sources = Object.values(ENTRIES).map((folder) => join(root, 'lib', folder, 'index.ts'));

/** The hover text that an editor shows for every export of these files and its members. */
function hoverTexts(files: readonly string[]): ReadonlyMap<string, string> {
  const options = { target: ts.ScriptTarget.ES2022, moduleResolution: ts.ModuleResolutionKind.NodeNext };
  const program = ts.createProgram([...files], { ...options, module: ts.ModuleKind.NodeNext, strict: true });
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
      // Static methods, and the properties of unions and intersections.
      target.exports?.forEach((member) => {
        add(`${symbol.name}.${member.name}`, member);
      });
      if (target.flags & ts.SymbolFlags.TypeAlias) {
        const declared = checker.getDeclaredTypeOfSymbol(target);
        const objects = (declared.isUnion() ? declared.types : [declared]).filter(
          ({ flags }) => flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection),
        );
        for (const property of objects.flatMap((type) => type.getProperties())) {
          const [declaration] = property.declarations ?? [];
          const isOurs = declaration?.getSourceFile().fileName.includes('/node_modules/') === false;
          if (isOurs) add(`${symbol.name}.${property.name}`, property);
        }
      }
    }
  }
  return texts;
}

describe('texts that editors show', () => {
  it('contain no comment syntax', () => {
    const texts = [...hoverTexts(sources)];
    expect(texts.filter(([, text]) => text.trim() !== '').length).toBeGreaterThan(200);
    const marked = texts.filter(([, text]) => /\\@|^@(?:link|Locked)\b|\{\s*\|/m.test(text));
    expect(marked).toEqual([]);
    expect(texts.find(([name]) => name === 'Locked')?.[1]).toContain('`@Locked({ key: ');
  });

  it.each(['cjs', 'esm'])('are the same in the declarations of dist/%s', (folder) => {
    const declarations = Object.keys(ENTRIES).map((entry) => join(root, 'dist', folder, `${entry}.d.ts`));
    const published = hoverTexts(declarations);
    // The compiler shows a link without braces where it knows the target, and declares no comments on parameter properties.
    const shown = (text = ''): string => text.replaceAll(/\{@link (\w+) ?\}/g, '$1');
    const texts = [...hoverTexts(sources)].filter(([, text]) => !/^$|^(.+)\n@param \w+ \1$/.test(text));
    expect(texts.length).toBeGreaterThan(200);
    expect(texts.filter(([name, text]) => shown(published.get(name)) !== shown(text))).toEqual([]);
  });
});
