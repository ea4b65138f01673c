import type { TakeRows } from '../../warehouse/database.ts';
import type { Row } from '../../warehouse/values.ts';
import { type WriteText, writeReportFiles } from './archive.ts';
import { allInOrder } from './connections.ts';
import { type ReadReport, type ReadRows, toJsonText } from './data.ts';
import type { Dataset, Report } from './definitions.ts';
import { toSpreadsheetCsv } from './format.ts';
import { type PageOptions, type Renderer, renderReport } from './renderer.ts';
import { csvName, type HeldRows, holdRows } from './table-view.ts';

/**
 * Writes the files of a report. Each dataset is read once, a few rows at a time: they go to the JSON file and to the CSV file of a long
 * table, and only those that the page may show stay in memory. Where a template reads a longer dataset by its name, all its rows do.
 * @returns the head of the report, and the names of its files
 */
export function writeReport(
  out: string,
  report: Report,
  begin: () => ReadReport,
  page: PageOptions,
  renderer: Renderer,
) {
  const { name, datasets } = report;
  const json = `${name}.json`;
  return writeReportFiles(out, name, async (write) => {
    for (const file of [`${name}.html`, `${name}.txt`, json]) await write(file, '');
    const { head: reading, read } = begin();
    const begun = reading.then((head) => write(json, toJsonText(head).slice(0, -'\n}\n'.length)));
    let before: Promise<unknown> = begun;
    const saving = datasets.map((dataset) => {
      const saved = saveRows(report, dataset, read, write, before);
      before = saved;
      return saved;
    });
    await allInOrder([begun, ...saving]);
    await write(json, '\n}\n');
    const head = await reading;
    const held = new Map(await allInOrder(saving));
    let rendered = renderReport(report, head, held, page, renderer);
    while (rendered.unread.size > 0) {
      for (const dataset of datasets.filter((one) => rendered.unread.has(one.name)))
        held.set(dataset.name, holdRows(dataset, await readAll(dataset, read)));
      rendered = renderReport(report, head, held, page, renderer);
    }
    for (const [file, text] of rendered.pages) await write(file, text);
    for (const { name: dataset, limit } of datasets) {
      const { rows = [], total = 0 } = held.get(dataset) ?? {};
      // A table of fewer rows may be too long for the page as well.
      if (rendered.tables[dataset]?.cut && !(total > limit))
        await write(csvName(name, dataset), toSpreadsheetCsv(rows));
    }
    return { head };
  });
}

/** Writes the rows of a dataset, after what comes before them. */
async function saveRows(
  { name }: Report,
  dataset: Dataset,
  read: ReadRows,
  write: WriteText,
  before: Promise<unknown>,
): Promise<readonly [string, HeldRows]> {
  const [json, csv] = [`${name}.json`, csvName(name, dataset.name)];
  let held = holdRows(dataset, []);
  const take: TakeRows = async (rows) => {
    await before;
    const isFirst = held.total === 0;
    const text = toJsonText(rows).slice('['.length, -'\n]\n'.length);
    await write(json, `${isFirst ? `,\n  ${JSON.stringify(dataset.name)}: [` : ','}${text.replaceAll('\n', '\n  ')}`);
    const follows = held.total > dataset.limit;
    const known = held.rows;
    held = holdRows(dataset, rows, held);
    if (held.total > dataset.limit) await write(csv, toSpreadsheetCsv(follows ? rows : [...known, ...rows], follows));
  };
  await read(dataset, take);
  await before;
  await write(json, held.total === 0 ? `,\n  ${JSON.stringify(dataset.name)}: []` : '\n  ]');
  return [dataset.name, held];
}

async function readAll(dataset: Dataset, read: ReadRows): Promise<readonly Row[]> {
  const all: Row[] = [];
  await read(dataset, async (rows) => {
    for (const row of rows) all.push(row);
  });
  return all;
}
