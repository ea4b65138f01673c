import { basename } from 'node:path';
import { stringify } from 'lossless-json';
import type { Target } from '../../../config/config.ts';
import { closestMatch } from '../../../config/suggest.ts';
import { TidemarkError } from '../../../core/errors.ts';
import { toFields, valueAt } from '../../../core/json-path.ts';
import { shortenText } from '../../../core/log.ts';
import { isSecretField, stripSecretFields } from '../../../core/redact/secret-fields.ts';
import { repairEscapes } from '../../../core/well-formed.ts';
import { quoteCell, readCsv } from '../../../landing/csv.ts';
import type { BodyPreview } from '../../../services/download.ts';
import {
  canonicalColumn,
  canonicalField,
  EXPLORER_FIELDS,
  type ExplorerView,
  type FieldType,
} from '../../../services/platform/explorer.ts';
import { platform } from '../../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';
import { type FetchPartition, fetchTotal } from './partition.ts';

/**
 * Downloads the CSV export of a view (docs/services/platform.md#csv-export) to the landing.
 * @param requiredColumn a column of the header: a CSV without it is not this export
 * @param untold receives the columns that the export lacks
 */
export function fetchCsv(view: ExplorerView, requiredColumn: string, untold: Set<string>): FetchPartition {
  return async (context, filter) => {
    const { client, landing } = context;
    const refuse = (what: string) => new TidemarkError('DATA', `${view}: ${what}`);
    const total = await fetchTotal(context, view, filter);
    // A body that ends too early, behind a line, is a CSV as well.
    if (total === undefined) throw refuse('the service reports no total, which alone proves that the CSV is complete');
    landing.expectRows(total);
    const path = await landing.allocate();
    const args = { type: view, filter };
    const download = await client.download(platform.explorer.export, args, path, { validatePreview: validateCsv });
    const columns = await readHeader(path);
    if (!columns.includes(requiredColumn)) {
      const shown = shortenText(columns.slice(0, 5).join(', '), MAX_SHOWN);
      throw refuse(`the CSV header (line 1) has no column ${requiredColumn}: ${shown} …`);
    }
    const lacks = 'the CSV header has no column';
    for (const name of findUntold(view, columns, client.target, lacks, canonicalColumn)) untold.add(name);
    const { bytes, sha256, longestLine, bareNulls, endsWithinValue } = download;
    await landing.register({ file: basename(path), format: 'csv', bytes, sha256, longestLine, columns, bareNulls });
    // HTTP/1.0 and compressed bodies may end too early without an error of the connection.
    if (endsWithinValue) throw refuse('the last line of the CSV is invalid: its last value may be cut off');
    return total;
  };
}

/** A login page or an error document with status 200 could be read as a CSV without rows. */
function validateCsv({ contentType, firstBytes }: BodyPreview): string | undefined {
  const start = firstBytes.replace(/^\uFEFF/u, '').trimStart();
  if (/\bhtml\b/iu.test(contentType) || start.startsWith('<')) return 'an HTML page instead of CSV';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON instead of CSV';
  return start === '' ? 'an empty body instead of a CSV header' : undefined;
}

const MAX_HEADER_BYTES = 1024 * 1024;
/** Characters of what a message repeats of a header. */
const MAX_SHOWN = 200;

async function readHeader(path: string): Promise<readonly string[]> {
  for await (const record of readCsv(path, { to: 1 }, MAX_HEADER_BYTES)) {
    const names = record as string[];
    const repeated = names.find((name, index) => names.indexOf(name) !== index);
    if (repeated !== undefined)
      throw new TidemarkError('DATA', `the CSV header has the column ${shortenText(repeated, MAX_SHOWN)} twice`);
    return names;
  }
  return [];
}

/**
 * Formats the rows of explorer pages as the CSV export of the same view has them, so that the same row is equal whichever way it was
 * fetched. Undocumented fields are a JSON object in the last column, `extra`, their times with whole seconds; those of documented columns
 * are cut when they are loaded (`src/load/landed-rows.ts`). DuckDB also reads CSV about seven times as fast as JSON.
 * @param keyColumns the columns that identify a row, whose values are texts
 */
export function createRowFormatter(view: ExplorerView, keyColumns: readonly string[] = []) {
  const columns = productColumns(view);
  const types = columns.map((name) => EXPLORER_FIELDS[view][name]);
  /** The column of each attribute that any row has had, even as null, and not only in a form that cannot be read. */
  const indexes = new Map<string, number>();
  let hasRows = false;

  const formatItem = (item: unknown): string => {
    const cells = new Array<string>(columns.length + 1).fill('');
    const extra: [string, string][] = [];
    const attributes = toFields(valueAt(item, 'attributes'));
    for (const name of Object.keys(attributes)) {
      const index = indexes.get(name) ?? columns.indexOf(canonicalField(name));
      const value = attributes[name];
      if (isReadable(value, types[index])) indexes.set(name, index);
      if (value === null || value === undefined || value === '') continue;
      if (index < 0) {
        if (!isSecretField(name)) extra.push([canonicalField(name), toText(value).replace(FRACTION, '')]);
      } else if (cells[index] === '') {
        if (typeof value !== 'string' && keyColumns.includes(columns[index] ?? ''))
          throw new TidemarkError('DATA', `${view}: the ${columns[index]} of a row is no text`);
        cells[index] = formatCell(value);
      }
    }
    if (extra.length > 0)
      cells[columns.length] = formatCell(repairEscapes(JSON.stringify(Object.fromEntries(extra.sort()))));
    return `${cells.join(',')}\n`;
  };
  return {
    columns: [...columns, 'extra'],
    format: (items: readonly unknown[]): string => {
      hasRows ||= items.length > 0;
      return items.map(formatItem).join('');
    },
    /**
     * The columns that no row has told.
     * @throws MissingColumnError when there were rows, and a documented attribute was in none of them
     */
    findUntold: (target: Target): readonly string[] =>
      hasRows ? findUntold(view, [...indexes.keys()], target, 'no row has the attribute', canonicalField) : [],
  };
}

/** Of the seconds of a time such as `2023-10-16T22:55:50.123+00:00`, which an undocumented field may be. */
const FRACTION = /(?<=^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)\.\d+(?= ?(?:Z|UTC|[+-]\d\d:?\d\d)?$)/u;

const NUMBER = /^\s*[+-]?\d/u;
const BOOLEAN = /^\s*(?:true|false|t|f|yes|no|y|n|1|0)\s*$/iu;

/** Whether a value may be one of its column. What is none is unknown in its row; where no row has one, the column is missing. */
function isReadable(value: unknown, type: FieldType | undefined): boolean {
  if (value === null || value === undefined || value === '') return true;
  if (type === 'number') return NUMBER.test(toText(value));
  return type !== 'boolean' || BOOLEAN.test(toText(value));
}

function formatCell(value: unknown): string {
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : quoteCell(toText(value));
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? (stringify(stripSecretFields(value)) ?? '') : String(value);
}

/**
 * A response lacks a documented column. Its values are unknown, and not null: the pull is quarantined unless another strategy
 * returns the column, or `missingColumns` of the target names it.
 */
export class MissingColumnError extends TidemarkError {}

/** Columns of the real products only. The documents have `registry_type` as a field to filter by: docs/services/platform.md#explorer-views. */
const PRODUCT_COLUMNS: Readonly<Partial<Record<ExplorerView, string>>> = {
  workspaces: 'tags',
  modules: 'registry_type',
};

function documentedColumns(view: ExplorerView): readonly string[] {
  return Object.keys(EXPLORER_FIELDS[view]).filter((name) => name !== PRODUCT_COLUMNS[view]);
}

/** The documented columns, and the one that a product tells beside them. */
function productColumns(view: ExplorerView): readonly string[] {
  return [...documentedColumns(view), ...[PRODUCT_COLUMNS[view] ?? []].flat()];
}

const UNTOLD = 'the service does not tell it';

/** Records columns that the service does not have: they are null in every row, and unknown. */
export function landUntold({ landing }: ExtractContext, columns: Iterable<string>, reason = UNTOLD): void {
  for (const column of columns)
    landing.addUnknown({ column, value: null, reason, isColumn: true, isUnsupported: true });
}

/**
 * The columns that a response lacks because the service does not have them. The nearest new name is shown quoted, since it may differ in
 * case or in spaces alone.
 * @param toDocumented the documented name of a column or attribute
 * @throws MissingColumnError when a documented column is not among the names of a response, and the target does not say so
 */
function findUntold(
  view: ExplorerView,
  names: readonly string[],
  target: Target,
  where: string,
  toDocumented: (name: string) => string,
): readonly string[] {
  const documented = documentedColumns(view);
  const present = new Set(names.map(toDocumented));
  // A product tells more. That of modules is no loss: their rule judges them without it.
  const tellsMore = target.flavor === 'hashicorp' && view !== 'modules';
  const expected = tellsMore ? productColumns(view) : documented;
  const untold = expected.filter((name) => !present.has(name));
  const missing = untold.filter((name) => documented.includes(name) && !target.missingColumns.includes(name));
  if (missing.length === 0) return untold;
  const added = names.filter((name) => !documented.includes(toDocumented(name)));
  const shown = missing.map((name) => {
    const nearest = closestMatch(name, added);
    return nearest === undefined ? name : `${name} (the nearest new name is ${JSON.stringify(nearest.slice(0, 60))})`;
  });
  throw new MissingColumnError('DATA', `${view}: ${where} ${shown.join(', ')}`, {
    hint: `if the service does not have it, add \`missingColumns: [${missing.join(', ')}]\` to the target ${target.name}`,
  });
}
