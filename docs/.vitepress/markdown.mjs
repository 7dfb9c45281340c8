/** How pages become HTML, beyond what VitePress does: text that is no template, and diagrams. Plugins for markdown-it. */
import { renderMermaidSVG } from 'beautiful-mermaid';

/** HTML that pages may use within a line. Anything else in angle brackets is text: `Promise<T>`. */
const INLINE_HTML = /^<\/?(a|abbr|br|code|em|img|kbd|span|strong|sub|sup)\b/i;

/** Shows text as it is written. VitePress takes `{{ }}` for a value, and `<T>` for a component. */
export function plainText(md) {
  const { text } = md.renderer.rules;
  md.renderer.rules.text = (...args) => text(...args).replaceAll('{{', '&#123;&#123;');
  md.core.ruler.push('plain_text', (state) => {
    for (const { children } of state.tokens) {
      for (const token of children ?? []) {
        if (token.type !== 'html_inline' || token.content.startsWith('<!--')) continue;
        if (!INLINE_HTML.test(token.content)) token.type = 'text';
      }
    }
  });
}

/** The empty corner of a table is the heading of nothing, which screen readers would announce. */
export function emptyCorners(md) {
  md.core.ruler.push('empty_corners', ({ tokens }) => {
    tokens.forEach((token, index) => {
      if (token.type !== 'th_open' || tokens[index + 1].content !== '') return;
      token.tag = tokens[index + 2].tag = 'td';
    });
  });
}

/** Alerts such as `[!CAUTION]` get the title of the page's language. */
export function alertTitles(md, titles) {
  md.core.ruler.push('alert_titles', ({ tokens, env }) => {
    const own = titles[env.localeIndex] ?? {};
    for (const { type, meta } of tokens) {
      if (type === 'github_alert_open') meta.title = own[meta.type] ?? meta.title;
    }
  });
}

/**
 * Draws Mermaid diagrams when the site is built, so that readers load no library for them. Colours are those of the theme
 * (theme/style.css). `accTitle`, which the repository's own renderer knows, too, is what screen readers say.
 */
export function diagrams(md) {
  const { fence } = md.renderer.rules;
  let count = 0;
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info, content } = tokens[index];
    if (info.trim() !== 'mermaid') return fence(...args);
    count += 1;
    return drawn(content, `diagram-${count}`);
  };
}

function drawn(source, id) {
  const title = /^\s*accTitle: *(.+?) *$/m.exec(source)?.[1];
  if (title === undefined) throw new Error(`A diagram has no line "accTitle: …":\n${source}`);
  const colours = { bg: 'var(--vp-c-bg)', fg: 'var(--vp-c-text-1)', transparent: true };
  const svg = renderMermaidSVG(source.replace(/^\s*accTitle:.*\n/m, ''), colours)
    // Styles are in theme/style.css: these would load a font from elsewhere.
    .replace(/<style>[^]*?<\/style>/g, '')
    .replace(/ style="--bg[^"]*"/, '')
    // Ids are unique in a page only if they name the diagram.
    .replace(/ id="([^"]+)"/g, ` id="${id}-$1"`)
    .replace(/url\(#([^)]+)\)/g, `url(#${id}-$1)`)
    .replace('<svg ', `<svg role="img" aria-label="${escaped(title)}" `);
  // As the theme's code blocks: a keyboard can scroll it.
  return `<div class="diagram" tabindex="0" v-pre>${svg}</div>\n`;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');
