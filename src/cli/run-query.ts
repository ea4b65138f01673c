import type { ScreenSize, WriteText } from '../ask/query/protocol.ts';
import type { SavedQuery } from '../ask/query/saved.ts';
import type { Format } from '../core/choices.ts';
import type { Context } from '../core/context.ts';
import { formatTable, toPrintable, writeResult } from './output.ts';

/** What prints a result. The formats for programs have texts as they are; the others are made for a terminal, with colours of ours. */
export function guardTerminal(context: Context, format: Format, write: WriteText = context.print): WriteText {
  return format === 'table' || format === 'line' ? write : (text) => write(toPrintable(context, text));
}

const DEFAULT_MAX_ROWS = 40;

/** A terminal shows the first and last rows; elsewhere every row is written unless `maxRows` is given. 0 means all. */
export function selectScreen({ screen, colors }: Context, maxRows: number | undefined): ScreenSize | undefined {
  if (screen === undefined && maxRows === undefined) return undefined;
  const rows = maxRows ?? DEFAULT_MAX_ROWS;
  return {
    width: screen?.columns ?? Number.POSITIVE_INFINITY,
    maxRows: rows === 0 ? Number.POSITIVE_INFINITY : rows,
    hasColor: colors.isColorSupported,
  };
}

export function listSavedQueries(context: Context, queries: ReadonlyMap<string, SavedQuery>): void {
  const list = [...queries.values()];
  const rows = list.map(({ name, title, parameters }) => [name, title, parameters.map((each) => each.name).join(', ')]);
  writeResult(context, list, () => formatTable(['query', 'title', 'parameters'], rows, context));
}
