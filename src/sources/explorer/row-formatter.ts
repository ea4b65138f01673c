import { stringify } from 'lossless-json';
import { isSecretField, stripSecretFields } from '../../core/redact/secret-fields.ts';
import { canonicalField, EXPLORER_FIELDS, type ExplorerView } from '../../services/platform/explorer-fields.ts';
import { documentedColumns } from './missing-columns.ts';

/**
 * Formats the rows of explorer pages as the CSV export of the same view has them, so that the same row is equal whichever way it
 * was fetched: times have whole seconds, and undocumented fields are a JSON object in the last column, `extra`. DuckDB also reads
 * CSV about seven times as fast as JSON.
 */
interface RowFormatter {
  readonly columns: readonly string[];
  /** Lines of CSV for the items of a page. */
  format(items: readonly unknown[]): string;
}

export function createRowFormatter(view: ExplorerView): RowFormatter {
  const columns = documentedColumns(view);
  const times = new Set(columns.flatMap((name, index) => (EXPLORER_FIELDS[view][name] === 'datetime' ? [index] : [])));
  const indexes = new Map<string, number>();
  const columnIndex = (name: string): number => {
    const known = indexes.get(name);
    if (known !== undefined) return known;
    const index = columns.indexOf(canonicalField(name));
    indexes.set(name, index);
    return index;
  };

  const formatItem = (item: unknown): string => {
    const cells = new Array<string>(columns.length + 1).fill('');
    const extra: [string, string][] = [];
    const attributes = readAttributes(item);
    for (const name of Object.keys(attributes)) {
      const value = attributes[name];
      if (value === null || value === undefined || value === '') continue;
      const index = columnIndex(name);
      if (index < 0) {
        if (!isSecretField(name)) extra.push([canonicalField(name), toText(value)]);
      } else if (cells[index] === '') {
        cells[index] = formatCell(times.has(index) ? truncateFraction(toText(value)) : value);
      }
    }
    if (extra.length > 0) cells[columns.length] = formatCell(JSON.stringify(Object.fromEntries(extra.sort())));
    return `${cells.join(',')}\n`;
  };
  return { columns: [...columns, 'extra'], format: (items) => items.map(formatItem).join('') };
}

function readAttributes(item: unknown): Readonly<Record<string, unknown>> {
  const attributes = (item as { readonly attributes?: unknown } | null)?.attributes;
  return typeof attributes === 'object' && attributes !== null ? (attributes as Record<string, unknown>) : {};
}

function formatCell(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : quoteCell(toText(value));
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? (stringify(stripSecretFields(value)) ?? '') : String(value);
}

/** Removes the fraction of seconds from a time such as `2023-10-16T22:55:50.123+00:00`. */
function truncateFraction(time: string): string {
  return time.includes('.') ? time.replace(/\.\d+/u, '') : time;
}

function quoteCell(text: string): string {
  return text.includes('"') ? `"${text.replaceAll('"', '""')}"` : `"${text}"`;
}
