import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { diagrams, emptyCorners, plainText } from '../../docs/.vitepress/markdown.mjs';

interface Markdown {
  use(plugin: unknown): Markdown;
  render(text: string): string;
}
const require = createRequire(new URL('../../docs/.vitepress/package.json', import.meta.url));
const MarkdownIt = require('markdown-it') as new (options: { html: boolean }) => Markdown;

describe('pages of the documentation site', () => {
  const render = (text: string): string =>
    new MarkdownIt({ html: true }).use(plainText).use(diagrams).use(emptyCorners).render(text);

  it('show text in braces and angle brackets, which would be templates and components', () => {
    expect(render('A {{ value }} of Promise<T> and <Component a="b">.')).toBe(
      '<p>A &#123;&#123; value }} of Promise&lt;T&gt; and &lt;Component a=&quot;b&quot;&gt;.</p>\n',
    );
  });

  it('may use HTML within a line, and comments', () => {
    const html = 'Press <kbd>Ctrl</kbd><br><!-- given: Promise<T> -->';
    expect(render(html)).toBe(`<p>${html}</p>\n`);
  });

  it('have no heading in the empty corner of a table', () => {
    const table = render('|  | a |\n| --- | --- |\n| b | c |');
    expect(table.match(/<th>/g)).toHaveLength(1);
  });

  it('draw diagrams that say what they show, load nothing, and have ids of their own', () => {
    const diagram = '```mermaid\nstateDiagram-v2\n  accTitle: "One" & two\n  [*] --> held: granted\n```\n';
    const html = render(diagram + diagram);
    expect(html.match(/role="img" aria-label="&quot;One&quot; &amp; two"/g)).toHaveLength(2);
    expect(html).toContain('granted');
    expect(html.replaceAll('http://www.w3.org/', '')).not.toMatch(/https?:|<style|@import/);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id = '']) => id);
    expect(ids.length).toBeGreaterThan(1);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('need a name for each diagram', () => {
    expect(() => render('```mermaid\nstateDiagram-v2\n  [*] --> held\n```')).toThrow('accTitle');
  });
});
