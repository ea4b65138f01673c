import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { parse as parseCsv } from 'csv-parse';
import { TidemarkError } from '../core/errors.ts';
import type { Service } from '../services/connect.ts';
import { platform } from '../services/platform.ts';
import { landPages } from './pages.ts';
import { PAGE_SIZE } from './pools.ts';
import type { Extraction, Source } from './source.ts';

type View = 'workspaces' | 'tf_versions' | 'providers' | 'modules';

/**
 * A view of the explorer, by CSV export (platform.md, "Explorer queries"): one request for the whole of it, one for the total
 * that it must add up to. Where the export is unusable, or the target says `explorer: json`, by JSON pages.
 */
export function explorerView(view: View, column: string): Source {
  const byCsv = (run: Extraction) =>
    run.service.target.explorer === 'json' ? byPages(run) : exportCsv(run, view, column);
  const byPages = (run: Extraction) => landPages(run, platform.explorer.query, { type: view, 'page[size]': PAGE_SIZE });
  const probe = (service: Service) => service.call(platform.explorer.query, { type: view, 'page[size]': 1 });
  return { name: view, kind: 'platform', probe, extract: byCsv, otherwise: [byCsv, byPages] };
}

async function exportCsv({ service, land, options }: Extraction, view: View, column: string): Promise<void> {
  for await (const page of service.pages(platform.explorer.query, { type: view, 'page[size]': 1 }, options)) {
    if (page.total !== undefined) land.expect(page.total);
    break;
  }
  const path = await land.path('csv');
  const download = await service.download(platform.explorer.export, { type: view }, path, {
    ...options,
    refuse: ({ contentType, firstBytes }) => notCsv(contentType, firstBytes),
  });
  const columns = await headerOf(path);
  if (!columns.includes(column)) {
    throw new TidemarkError(
      'DATA',
      `${view}: the CSV header has no column ${column}: ${columns.slice(0, 5).join(', ')} …`,
    );
  }
  land.add({
    file: basename(path),
    format: 'csv',
    bytes: download.bytes,
    sha256: download.sha256,
    columns,
    bareNull: download.mentionsBareNull,
  });
}

/** A login page or an error document with status 200 would read as a CSV of no rows. */
function notCsv(contentType: string, firstBytes: string): string | undefined {
  const start = firstBytes.replace(/^\uFEFF/u, '').trimStart();
  if (/\bhtml\b/iu.test(contentType) || start.startsWith('<')) return 'an HTML page instead of CSV';
  if (start.startsWith('{') || start.startsWith('[')) return 'JSON instead of CSV';
  return start === '' ? 'an empty body instead of a CSV header' : undefined;
}

async function headerOf(path: string): Promise<readonly string[]> {
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
