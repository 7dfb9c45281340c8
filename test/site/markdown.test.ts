import { createRequire } from 'node:module';
import { describe, expect, it } from '@jest/globals';
import { plainText } from '../../docs/.vitepress/markdown.mjs';

interface Markdown {
  use(plugin: unknown): Markdown;
  render(text: string): string;
}
const require = createRequire(new URL('../../docs/.vitepress/package.json', import.meta.url));
const MarkdownIt = require('markdown-it') as new (options: { html: boolean }) => Markdown;

describe('pages of the documentation site', () => {
  const render = (text: string): string => new MarkdownIt({ html: true }).use(plainText).render(text);

  it('show text in braces and angle brackets, which would be templates and components', () => {
    expect(render('A {{ value }} of Promise<T> and <Component a="b">.')).toBe(
      '<p>A &#123;&#123; value }} of Promise&lt;T&gt; and &lt;Component a=&quot;b&quot;&gt;.</p>\n',
    );
  });

  it('may use HTML within a line, and comments', () => {
    const html = 'Press <kbd>Ctrl</kbd><br><!-- given: Promise<T> -->';
    expect(render(html)).toBe(`<p>${html}</p>\n`);
  });
});
