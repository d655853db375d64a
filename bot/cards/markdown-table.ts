const RULE = /^\s*\|?\s*:?-{1,}:?\s*(?:\|\s*:?-{1,}:?\s*)*\|?\s*$/;
const WIDTH_MAX = 40;

/** Whether a line is the rule under a Markdown table's head: `|---|:--:|`. */
export function isTableRule(line: string): boolean {
  return line.includes('-') && line.includes('|') && RULE.test(line);
}

/**
 * A Markdown table's rows as aligned columns. Where they would be wider than a phone (40 characters), each row becomes
 * lines of `head: value` instead.
 */
export function alignedTable(rows: readonly string[]): string {
  const cells = rows.map(cellsOf);
  const columns = Math.max(0, ...cells.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(0, ...cells.map((row) => [...(row[column] ?? '')].length)),
  );
  const width = widths.reduce((sum, one) => sum + one, 0) + 2 * Math.max(0, columns - 1);
  const [head = [], ...body] = cells;
  if (width > WIDTH_MAX && body.length > 0) {
    return body
      .map((row) => row.map((cell, column) => `${head[column] ?? ''}: ${cell}`).join('\n'))
      .join('\n\n');
  }
  return cells
    .map((row) =>
      row
        .map((cell, column) => pad(cell, widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function cellsOf(row: string): string[] {
  const inner = row
    .trim()
    .replace(/^\|/, '')
    .replace(/(?<!\\)\|$/, '');
  return inner.split(/(?<!\\)\|/).map((cell) =>
    cell
      .trim()
      .replaceAll('\\|', '|')
      .replace(/\*\*|`/g, ''),
  );
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - [...cell].length));
}
