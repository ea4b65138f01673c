import { basename } from 'node:path';
import { TidemarkError } from '../../core/errors.ts';
import { readCsv } from '../../landing/read-csv.ts';
import type { BodyPreview } from '../../services/download.ts';
import type { ExplorerView } from '../../services/platform/explorer-fields.ts';
import { platform } from '../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';
import { checkHeader } from './missing-columns.ts';
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
