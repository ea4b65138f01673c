import { basename } from 'node:path';
import { stringify } from 'lossless-json';
import { TidemarkError } from '../../core/errors.ts';
import { isSecretField, stripSecretFields } from '../../core/redact/secret-fields.ts';
import { readCsv } from '../../landing/read-csv.ts';
import type { BodyPreview } from '../../services/download.ts';
import { canonicalField, EXPLORER_FIELDS, type ExplorerView } from '../../services/platform/explorer.ts';
import { platform } from '../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';
import { checkHeader, documentedColumns } from './missing-columns.ts';
import type { FetchPartition } from './partition.ts';

/**
 * Downloads the CSV export of a view (docs/services/platform.md#csv-export) to the landing.
 * @param requiredColumn a column of the header: a CSV without it is not this export
 */
export function fetchCsv(context: ExtractContext, view: ExplorerView, requiredColumn: string): FetchPartition {
  const { client, landing } = context;
  return async (filter, attempt) => {
    const total = await fetchTotal(context, view, filter);
    if (total !== undefined) landing.expectRows(total);
    const path = await landing.allocate(attempt === 0 ? 'csv' : `${attempt}.csv`);
    const args = { type: view, filter };
    const download = await client.download(platform.explorer.export, args, path, { validatePreview: validateCsv });
    const columns = await readHeader(path);
    if (!columns.includes(requiredColumn)) {
      const shown = columns.slice(0, 5).join(', ');
      throw new TidemarkError('DATA', `${view}: the CSV header (line 1) has no column ${requiredColumn}: ${shown} …`);
    }
    checkHeader(view, columns, client.target);
    const { bytes, sha256, hasBareNull: bareNull } = download;
    await landing.register({ file: basename(path), format: 'csv', bytes, sha256, columns, bareNull }, download);
    return total;
  };
}

/** The number of rows of a query, if the service reports it. */
async function fetchTotal(
  { client }: ExtractContext,
  view: string,
  filter: readonly string[],
): Promise<number | undefined> {
  const args = { type: view, filter, 'page[size]': 1 };
  for await (const page of client.pages(platform.explorer.query, args)) return page.total;
  return undefined;
}

/** A login page or an error document with status 200 could be read as a CSV without rows. */
function validateCsv({ contentType, firstBytes }: BodyPreview): string | undefined {
  const start = firstBytes.replace(/^\uFEFF/u, '').trimStart();
  if (/\bhtml\b/iu.test(contentType) || start.startsWith('<')) return 'an HTML page instead of CSV';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON instead of CSV';
  return start === '' ? 'an empty body instead of a CSV header' : undefined;
}

const MAX_HEADER_BYTES = 1024 * 1024;

async function readHeader(path: string): Promise<readonly string[]> {
  const options = { to: 1, bom: true, relax_column_count: true };
  for await (const record of readCsv(path, options, MAX_HEADER_BYTES)) {
    const names = record as string[];
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined) throw new TidemarkError('DATA', `the CSV header has the column ${repeated} twice`);
    return names;
  }
  return [];
}

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
