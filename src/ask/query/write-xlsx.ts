import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';
import { TidemarkError } from '../../core/errors.ts';
import { cutText } from '../../core/log.ts';
import { NULL_CELL, readRows, splitRow } from './rows.ts';
import type { PreparedQuery } from './session.ts';
import { isNumber } from './sql-text.ts';

/** Excel's limits, the header included, and UTF-16 units of a text (Excel specifications and limits). */
const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
const MAX_TEXT = 32_767;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const CONTENT_TYPES =
  '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/></Types>';
const relationships = (type: string, target: string) =>
  `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/${type}" Target="${target}"/></Relationships>`;
const WORKBOOK =
  '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="result" sheetId="1" r:id="rId1"/></sheets></workbook>';
const SHEET_BEGIN =
  '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>';
const SHEET_END = '</sheetData></worksheet>';

/**
 * Writes an Office Open XML workbook (ECMA-376) with one sheet, a part at a time. Texts are inline strings, so no cell is a formula.
 * @throws TidemarkError DATA if the result is larger than a sheet.
 */
export async function writeXlsx(query: PreparedQuery, output: string): Promise<number> {
  const { columns } = query;
  if (columns.length > MAX_COLUMNS) throw tooLarge(`${MAX_COLUMNS.toLocaleString('en')} columns`);
  const isNumeric = columns.map(({ type }) => isNumber(type));
  let count = 0;
  async function* writeSheet() {
    const header = columns.map(({ name }) => `${TEXT_BEGIN}${escapeXml(name)}${TEXT_END}`);
    yield `${XML}${SHEET_BEGIN}<row>${header.join('')}</row>`;
    for await (const rows of readRows(query, true)) {
      count += rows.length;
      if (count >= MAX_ROWS) throw tooLarge(`${(MAX_ROWS - 1).toLocaleString('en')} rows below the header`);
      yield formatRows(rows, isNumeric);
    }
    yield SHEET_END;
  }
  await writeZip(output, [
    ['[Content_Types].xml', [XML + CONTENT_TYPES]],
    ['_rels/.rels', [XML + relationships('officeDocument', 'xl/workbook.xml')]],
    ['xl/workbook.xml', [XML + WORKBOOK]],
    ['xl/_rels/workbook.xml.rels', [XML + relationships('worksheet', 'worksheets/sheet1.xml')]],
    ['xl/worksheets/sheet1.xml', writeSheet()],
  ]);
  return count;
}

function tooLarge(limit: string): TidemarkError {
  return new TidemarkError('DATA', `the result is larger than a sheet of Excel: ${limit}`, {
    hint: 'select less, or write .csv or .parquet',
  });
}

const TEXT_BEGIN = '<c t="inlineStr"><is><t xml:space="preserve">';
const TEXT_END = '</t></is></c>';

/** What DuckDB has as numbers, and Excel has not: infinity, NaN, and more digits than the 15 that it keeps, such as an ID has. */
const NO_NUMBER = /^-?(?:inf|nan|\d{16,})$/u;

function formatRows(rows: readonly string[], isNumeric: readonly boolean[]): string {
  let text = '';
  for (const row of rows) {
    text += '<row>';
    const cells = splitRow(row);
    for (let index = 0; index < cells.length; index++) {
      const cell = cells[index] ?? '';
      if (cell === NULL_CELL) text += '<c/>';
      else if (isNumeric[index] && !NO_NUMBER.test(cell)) text += `<c><v>${cell}</v></c>`;
      else text += TEXT_BEGIN + escapeXml(cutText(cell, MAX_TEXT)) + TEXT_END;
    }
    text += '</row>';
  }
  return text;
}

/** Printable ASCII without `&`, `<`, `>` and `_`: most texts. */
const PLAIN = /^[ !-%'-;=?-^`-~]*$/u;

/** Text as XML 1.0 takes it, without the characters that it forbids; Excel reads `_x0041_` as `A` (ECMA-376, ST_Xstring). */
function escapeXml(text: string): string {
  if (PLAIN.test(text)) return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids them
  const allowed = text.replaceAll(/[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/gu, '');
  const literal = allowed.replaceAll(/_(?=x[0-9a-f]{4}_)/giu, '_x005F_').replaceAll('\r', '_x000D_');
  return literal.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The largest entry of a ZIP archive without its 64-bit extension, which readers of spreadsheets need not know. */
const MAX_ENTRY_BYTES = 2 ** 32 - 1;
/** A third smaller than level 1 for the XML of a sheet in the same time; level 6 saves a twentieth more for a third more time. */
const LEVEL = 3;

type Entry = readonly [name: string, parts: AsyncIterable<string> | Iterable<string>];

/** Writes a ZIP archive: of an entry, only what is being compressed is in memory. @throws TidemarkError DATA for an entry of 4 GiB */
async function writeZip(path: string, entries: readonly Entry[]): Promise<void> {
  const output = createWriteStream(path);
  const written = finished(output);
  written.catch(() => {}); // it is awaited below
  const zip = new Zip((error, data, isFinal) => {
    if (error) throw error;
    if (isFinal) output.end(data);
    else output.write(data);
  });
  try {
    for (const [name, parts] of entries) await addEntry(zip, name, parts, output);
    zip.end();
  } catch (error) {
    output.destroy(error as Error);
  }
  await written;
}

async function addEntry(zip: Zip, filename: string, parts: Entry[1], output: Writable): Promise<void> {
  const file: ZipInputFile = { filename, size: 0, crc: 0, compression: 8 };
  zip.add(file);
  async function* count() {
    for await (const part of parts) {
      const data = Buffer.from(part);
      file.crc = crc32(data, file.crc);
      file.size += data.length;
      if (file.size > MAX_ENTRY_BYTES) throw tooLarge('4 GiB of XML');
      yield data;
    }
  }
  await pipeline(count, createDeflateRaw({ level: LEVEL, chunkSize: 64 * 1024 }), async (compressed) => {
    for await (const data of compressed) {
      file.ondata?.(null, data as Uint8Array<ArrayBuffer>, false);
      if (output.writableNeedDrain) await once(output, 'drain');
    }
  });
  file.ondata?.(null, new Uint8Array(), true);
}
