import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const root = join(import.meta.dirname, '../..');
const HOLE = '…';
/** Messages of the compiler, of Nest and of pg. */
const FOREIGN = /^(?:Type|Property) '|^Nest can't resolve|^The server does not support SSL/;

/** Replaces figures with their units, and replies of servers: a page or the code may have a placeholder for them. */
function withHoles(text: string): string {
  return text
    .replaceAll(/(?<![\d.])\d+(?![\d.]*\d)/g, HOLE)
    .replaceAll(/(?<=\banswered ")[^"]*(?=")/g, HOLE)
    .replaceAll(/(?<=\()(?:ERR |All sentinels|etcdserver)[^)…]*/g, HOLE)
    .replaceAll(/(?<=\bmay not use )[A-Z]+/g, HOLE)
    .replaceAll(/(?<=\bgot )\w+(?=\.)/g, HOLE)
    .replaceAll(/… m?s\b/g, HOLE);
}

/** Every text of the code, with a hole for each placeholder; concatenated parts are one text. */
function textsOf(file: string, source: string): string[] {
  const texts: string[] = [];
  const textOf = (node: ts.Expression): string => {
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isTemplateExpression(node)) {
      const spans = node.templateSpans.map(({ expression, literal }) => {
        visit(expression);
        return HOLE + literal.text;
      });
      return node.head.text + spans.join('');
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
      return textOf(node.left) + textOf(node.right);
    }
    if (ts.isParenthesizedExpression(node)) return textOf(node.expression);
    visit(node);
    return HOLE;
  };
  const isText = (node: ts.Node): node is ts.Expression =>
    ts.isStringLiteralLike(node) ||
    ts.isTemplateExpression(node) ||
    (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken);
  const visit = (node: ts.Node): void => {
    if (isText(node)) texts.push(textOf(node));
    else ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, source, ts.ScriptTarget.ES2022));
  return texts;
}

/** The text between holes, of all of lib, with the messages of Lua and SQL. */
function segmentsOfCode(): ReadonlySet<string> {
  const files = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !name.includes('generated') && !name.startsWith('dashboard/page/'),
  );
  const texts = files.flatMap((name) => textsOf(name, readFileSync(join(root, 'lib', name), 'utf8')));
  return new Set(texts.flatMap((text) => withHoles(text).split(HOLE)).filter((segment) => segment !== ''));
}

/**
 * Whether the code can write a text between two "…" of a page: a part of one text, or parts of several texts, one of
 which fills a hole of another.
 */
function isWritten(text: string, segments: ReadonlySet<string>): boolean {
  const all = [...segments];
  if (all.some((segment) => segment.includes(text))) return true;
  const isPiece = (piece: string): boolean => piece.length >= 3 || /^[^\p{L}\p{N}]+$/u.test(piece);
  const seen = new Set<number>();
  // Another text can follow at the end of a text and at a hole.
  const follows = (from: number): boolean => {
    if (seen.has(from)) return false;
    seen.add(from);
    const rest = text.slice(from);
    if (rest === '' || all.some((segment) => segment.startsWith(rest))) return true;
    return all.some(
      (segment) => isPiece(segment) && rest.startsWith(segment) && follows(from + segment.length),
    );
  };
  for (let end = 1; end < text.length; end++) {
    const start = text.slice(0, end);
    if (isPiece(start) && all.some((segment) => segment.endsWith(start)) && follows(end)) return true;
  }
  return false;
}

/** Messages that a page quotes: bold code, and other code that begins as a sentence of several words. */
function quotesOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/```[^]*?```/g, '');
  return [...text.matchAll(/(\*\*)?(`+)([^]*?)\2(?:\*\*)?/g)]
    .map(([, bold, , quote = '']) => ({ bold, quote: quote.replaceAll(/\s+/g, ' ') }))
    .filter(({ bold, quote }) => bold !== undefined || /^(?:[A-Z][a-z]+|etcd) (?:\S+ ){4}/.test(quote))
    .map(({ quote }) => quote);
}

/** The findings that a page quotes from the output of `doctor`. */
function findingsOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8');
  return [...text.matchAll(/^ {2}(?:ok|warning|problem) +[\w/]+ +(.+)$/gm)].map(([, finding = '']) =>
    finding
      .replaceAll(/\d+\.\d+ m?s/g, HOLE)
      .replaceAll(/(?<=Redis )\d[\d.]+/g, HOLE)
      .replaceAll(/redis\.internal:\d+/g, HOLE)
      .replaceAll(/\bconnect ECONNREFUSED …/g, HOLE)
      .replaceAll(/(?<=lock ")[^"]+(?=" failed)/g, HOLE)
      .replaceAll(/(?<=policy )[a-z-]+(?=:)/g, HOLE),
  );
}

describe('messages that troubleshooting quotes', () => {
  let segments: ReadonlySet<string>;
  beforeAll(() => {
    segments = segmentsOfCode();
  });
  const unknown = (quote: string): string[] =>
    withHoles(quote)
      .split(HOLE)
      .filter((text) => /\p{L}/u.test(text) && !isWritten(text, segments));

  it('exist in the code', () => {
    const quotes = quotesOf('docs/operations/troubleshooting.md').filter((quote) => !FOREIGN.test(quote));
    expect(quotes.length).toBeGreaterThan(40);
    expect(quotes.flatMap((quote) => unknown(quote).map((text) => ({ quote, text })))).toEqual([]);
  });

  it('exist in the code where a page shows the output of doctor, or the warnings of the start-up check', () => {
    const pages = ['docs/operations/runbook.md', 'docs/reference/command-line.md'];
    const quotes = [...pages.flatMap(findingsOf), ...quotesOf('docs/stores/redis.md')];
    expect(quotes.length).toBeGreaterThan(15);
    expect(quotes.flatMap((quote) => unknown(quote).map((text) => ({ quote, text })))).toEqual([]);
  });

  it('are rejected if the code does not contain them', () => {
    expect(unknown('etcd … is too old for locks: use 3.5.18 or newer.')).toHaveLength(1);
    expect(unknown('The lock "…" was held by another caller for the whole holdTime (… ms).')).toHaveLength(1);
    expect(unknown('The lock "…" was held by another caller for the whole waitTime (… ms).')).toEqual([]);
  });
});
