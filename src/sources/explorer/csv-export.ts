import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { parse as parseCsv } from 'csv-parse';
import { TidemarkError } from '../../core/errors.ts';
import { platform } from '../../services/platform/operations.ts';
import type { ExtractContext } from '../source.ts';
import type { FetchPartition } from './partition.ts';

/**
 * Lands the CSV export of a query, with the total that it must add up to (platform.md, "Explorer queries").
 * `column` must be in the header: a CSV without it is another CSV.
 */
export function fetchCsv(run: ExtractContext, view: string, column: string): FetchPartition {
  return async (filter, part) => {
    const { client, landing, requestOptions } = run;
    const total = await fetchTotal(run, view, filter);
    if (total !== undefined) landing.expectRows(total);
    const path = await landing.allocate(part === 0 ? 'csv' : `${part}.csv`);
    const download = await client.download(platform.explorer.export, { type: view, filter }, path, {
      ...requestOptions,
      validatePreview: ({ contentType, firstBytes }) => notCsv(contentType, firstBytes),
    });
    const columns = await readHeader(path);
    if (!columns.includes(column)) {
      const shown = columns.slice(0, 5).join(', ');
      throw new TidemarkError('DATA', `${view}: the CSV header (line 1) has no column ${column}: ${shown} …`);
    }
    const { bytes, sha256, hasBareNull: bareNull } = download;
    await landing.register({ file: basename(path), format: 'csv', bytes, sha256, columns, bareNull }, download);
    return total;
  };
}

/** The rows a query has, where the service tells. */
async function fetchTotal(
  { client, requestOptions }: ExtractContext,
  view: string,
  filter: readonly string[],
): Promise<number | undefined> {
  const args = { type: view, filter, 'page[size]': 1 };
  for await (const page of client.pages(platform.explorer.query, args, requestOptions)) return page.total;
  return undefined;
}

/** A login page or an error document with status 200 would read as a CSV of no rows. */
function notCsv(contentType: string, firstBytes: string): string | undefined {
  const start = firstBytes.replace(/^\uFEFF/u, '').trimStart();
  if (/\bhtml\b/iu.test(contentType) || start.startsWith('<')) return 'an HTML page instead of CSV';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON instead of CSV';
  return start === '' ? 'an empty body instead of a CSV header' : undefined;
}

async function readHeader(path: string): Promise<readonly string[]> {
  const parser = createReadStream(path, { end: 1024 * 1024 }).pipe(
    parseCsv({ to: 1, bom: true, relax_column_count: true }),
  );
  for await (const record of parser) {
    const names = record as string[];
    const twice = names.find((name, index) => names.indexOf(name) !== index);
    if (twice !== undefined) throw new TidemarkError('DATA', `the CSV header names ${twice} twice`);
    return names;
  }
  return [];
}
