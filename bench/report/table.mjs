const isFigure = (text) => /^[<≤≥~]?\s?[\d–∞-]/.test(text);

/**
 * Aligns text in columns. Columns of figures are right-aligned.
 *
 * @param {string[]} head
 * @param {string[][]} lines
 * @returns {string}
 */
export function table(head, lines) {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => line[column].length)),
  );
  const right = head.map(
    (_, column) => column > 0 && lines.every((line) => line[column] === '' || isFigure(line[column])),
  );
  const row = (cells) =>
    cells
      .map((cell, column) => (right[column] ? cell.padStart(widths[column]) : cell.padEnd(widths[column])))
      .join('  ')
      .trimEnd();
  return [row(head), widths.map((width) => '─'.repeat(width)).join('  '), ...lines.map(row)].join('\n');
}

/**
 * A table of objects.
 *
 * @template T
 * @param {readonly (readonly [title: string, cell: (line: T) => string])[]} columns
 * @param {readonly T[]} lines
 * @returns {string}
 */
export function tableOf(columns, lines) {
  return table(
    columns.map(([title]) => title),
    lines.map((line) => columns.map(([, cell]) => cell(line))),
  );
}
