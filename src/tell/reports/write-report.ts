import { appendFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { allInOrder } from '../../core/all-in-order.ts';
import { makeFolder, PRIVATE_FILE, syncFolder } from '../../core/fs.ts';
import { createTemporaryFolder } from '../../warehouse/temporary-folder.ts';
import type { Row } from '../../warehouse/values.ts';
import { removeObsolete } from './archive.ts';
import { type ReadReport, toJsonText } from './data.ts';
import type { Dataset, Report } from './definitions.ts';
import { toSpreadsheetCsv } from './format.ts';
import { type PageOptions, type Renderer, renderReport } from './renderer.ts';
import { csvName, type HeldDataset, holdRows } from './table-view.ts';

/**
 * Writes the files of a report. None replaces an earlier one before all are written. Each dataset is read once: its rows go to the JSON file and to the
 * CSV file of a long table, and those that a page may show stay in memory; all of them where a template reads it by name.
 * @param begin begins to read it
 */
export async function writeReport(
  out: string,
  report: Report,
  begin: () => ReadReport,
  page: PageOptions,
  renderer: Renderer,
) {
  const { name } = report;
  const files = new Set([`${name}.html`, `${name}.txt`, `${name}.json`]);
  await makeFolder(out);
  const folder = await createTemporaryFolder(out);
  /** Appends a text to a file of the report. */
  const write = (file: string, text: string) => {
    files.add(file);
    return appendFile(join(folder, file), text, { mode: PRIVATE_FILE });
  };
  try {
    const { head: reading, read } = begin();
    const begun = reading.then((own) => write(`${name}.json`, toJsonText(own).slice(0, -'\n}\n'.length)));
    const saving: Promise<HeldDataset>[] = [];
    for (const dataset of report.datasets) saving.push(saveRows(name, dataset, read, write, saving.at(-1) ?? begun));
    const [head, , datasets] = await allInOrder([reading, begun, allInOrder(saving)]);
    await write(`${name}.json`, '\n}\n');
    const held = { ...report, head, datasets };
    let rendered = renderReport(held, page, renderer);
    while (rendered.unread.size > 0) {
      for (const dataset of rendered.unread) {
        const rows: Row[] = [];
        await read(dataset, async (some) => void rows.push(...some));
        datasets[datasets.indexOf(dataset)] = { ...dataset, rows, total: rows.length };
      }
      rendered = renderReport(held, page, renderer);
    }
    for (const [file, text] of rendered.pages) await write(file, text);
    for (const dataset of datasets) {
      const csv = csvName(name, dataset.name);
      // A table of fewer rows than the limit may be too long for the page as well.
      if (rendered.tables[dataset.name]?.cut && !files.has(csv)) await write(csv, toSpreadsheetCsv(dataset.rows));
    }
    await Promise.all([...files].map((file) => appendFile(join(folder, file), '', { flush: true })));
    for (const file of [...files].reverse()) await rename(join(folder, file), join(out, file)); // the page comes last
    await syncFolder(out);
    await removeObsolete(out, name, files);
    return { name, files: [...files], head };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Writes the rows of a dataset, after what comes before them. @returns those that a page may show */
async function saveRows(
  report: string,
  dataset: Dataset,
  read: ReadReport['read'],
  write: (file: string, text: string) => Promise<void>,
  before: Promise<unknown>,
): Promise<HeldDataset> {
  const [json, csv] = [`${report}.json`, csvName(report, dataset.name)];
  const begin = `,\n  ${JSON.stringify(dataset.name)}: [`;
  let held = holdRows(dataset, []);
  await read(dataset, async (rows) => {
    await before;
    if (rows.length === 0) return;
    const text = toJsonText(rows).slice('['.length, -'\n]\n'.length);
    await write(json, `${held.total === 0 ? begin : ','}${text.replaceAll('\n', '\n  ')}`);
    const { total, rows: known } = held;
    held = holdRows(held, rows);
    if (total > dataset.limit) await write(csv, toSpreadsheetCsv(rows, true));
    else if (held.total > dataset.limit) await write(csv, toSpreadsheetCsv([...known, ...rows]));
  });
  await before;
  await write(json, held.total === 0 ? `${begin}]` : '\n  ]');
  return held;
}
