/** Where DuckDB found an error in a query; both count from 1. */
export interface QueryPosition {
  readonly line: number;
  readonly column: number;
}

/** DuckDB's own excerpt: `LINE 2: from workspacez`, below it a caret, and `...` where the line is cut. */
const EXCERPT = /^LINE (?<line>\d+): (?<start>\.\.\.)?(?<text>.*)\n(?<indent> *)\^/mu;

/** The position that a message of DuckDB shows with its excerpt of the query. */
export function findErrorPosition(message: string, query: string): QueryPosition | undefined {
  const { line = '', start = '', text = '', indent = '' } = EXCERPT.exec(message)?.groups ?? {};
  if (line === '') return undefined;
  const shown = query.split('\n')[Number(line) - 1];
  const inExcerpt = indent.length - `LINE ${line}: ${start}`.length;
  const offset = start === '' ? 0 : (shown?.indexOf(text.replace(/\.\.\.$/u, '')) ?? -1);
  if (shown === undefined || inExcerpt < 0 || offset < 0) return undefined;
  return { line: Number(line), column: offset + inExcerpt + 1 };
}
