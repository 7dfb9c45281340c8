/**
 * @typedef {{ id: string, title: string, checks: Pick<import('./checks.mjs').Check, 'what' | 'measured' | 'goal' | 'verdict'>[], measuredAt: string,
 *   commit: string | undefined, machine: Record<string, string | number>, loads?: any[] }} MeasuredRow
 */

/**
 * Replaces the parts of a page between `<!-- NAME -->` and `<!-- /NAME -->`.
 *
 * @param {string} page
 * @param {Record<string, string>} parts by name
 * @returns {string}
 * @throws {Error} if a pair of markers is missing
 */
export function pageWith(page, parts) {
  return Object.entries(parts).reduce((text, [name, content]) => {
    const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
    const [from, to] = [text.indexOf(open), text.indexOf(close)];
    if (from < 0 || to < from) throw new Error(`The page has no ${open} … ${close}.`);
    return `${text.slice(0, from + open.length)}\n\n${content}\n\n${text.slice(to)}`;
  }, page);
}

const line = (cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;

/**
 * A Markdown table whose columns are right-aligned, except for the first and those named `left`.
 *
 * @param {string[]} head
 * @param {string[][]} lines
 * @param {number[]} [left]
 */
export function markdownTable(head, lines, left = []) {
  const alignment = head.map((_, column) => (column === 0 || left.includes(column) ? '---' : '--:'));
  return [head, alignment, ...lines].map(line).join('\n');
}
