import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { Zip, ZipDeflate } from 'fflate';
import { TidemarkError } from '../core/errors.ts';
import type { PreparedQuery, QuerySession } from './session.ts';
import { isNumber, type ResultColumn, textSql } from './sql-text.ts';

/** Excel's limit, the header included (Excel specifications and limits). */
const MAX_ROWS = 1_048_576;
const MAX_COLUMNS = 16_384;
const MAX_TEXT = 32_767;

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
export async function writeXlsx(session: QuerySession, query: PreparedQuery): Promise<number> {
  if (query.columns.length > MAX_COLUMNS) throw tooLarge(`${query.columns.length} columns`, `${MAX_COLUMNS} columns`);
  const file = new ZipFile(session.output);
  try {
    await file.add('[Content_Types].xml', CONTENT_TYPES);
    await file.add('_rels/.rels', relationships('officeDocument', 'xl/workbook.xml'));
    await file.add('xl/workbook.xml', WORKBOOK);
    await file.add('xl/_rels/workbook.xml.rels', relationships('worksheet', 'worksheets/sheet1.xml'));
    await file.begin('xl/worksheets/sheet1.xml');
    const header = query.columns.map(
      ({ name }) => `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(name)}</t></is></c>`,
    );
    await file.write(`${SHEET_BEGIN}<row>${header.join('')}</row>`);
    let count = 0;
    for await (const chunk of session.chunks(
      query,
      `concat('<row>', ${query.columns.map(cellSql).join(', ')}, '</row>')`,
    )) {
      count += chunk.rowCount;
      if (count >= MAX_ROWS) throw tooLarge('more rows', `${MAX_ROWS.toLocaleString('en')} rows`);
      await file.write((chunk.getColumnValues(0) as readonly string[]).join(''));
    }
    await file.write(SHEET_END);
    return count;
  } finally {
    await file.close();
  }
}

function tooLarge(found: string, limit: string): TidemarkError {
  return new TidemarkError('DATA', `the result has ${found} than a sheet of Excel holds: ${limit}`, {
    hint: 'select less, or write .csv or .parquet',
  });
}

/** SQL for one cell. A cell of null is empty; Excel refuses characters that XML 1.0 forbids, and texts beyond its limit. */
function cellSql(column: ResultColumn): string {
  const text = textSql(column);
  if (isNumber(column.type)) {
    return `case when ${column.sql} is null then '<c/>' else '<c><v>' || ${text} || '</v></c>' end`;
  }
  const allowed = `regexp_replace(left(${text}, ${MAX_TEXT}), '[\\x00-\\x08\\x0B\\x0C\\x0E-\\x1F]', '', 'g')`;
  const escaped = `replace(replace(replace(${allowed}, '&', '&amp;'), '<', '&lt;'), '>', '&gt;')`;
  return `case when ${column.sql} is null then '<c/>' else '<c t="inlineStr"><is><t xml:space="preserve">' || ${escaped} || '</t></is></c>' end`;
}

function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: XML 1.0 forbids them
  const allowed = text.replaceAll(/[\x00-\x08\x0b\x0c\x0e-\x1f]/gu, '');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** A ZIP archive that is written as it grows. */
class ZipFile {
  readonly #stream;
  readonly #zip: Zip;
  #entry: ZipDeflate | undefined;
  #error: Error | undefined;

  constructor(path: string) {
    this.#stream = createWriteStream(path);
    this.#stream.on('error', (error) => (this.#error ??= error));
    this.#zip = new Zip((error, data, isFinal) => {
      if (error) this.#error ??= error;
      else if (isFinal) this.#stream.end(data);
      else this.#stream.write(data);
    });
  }

  async add(name: string, text: string): Promise<void> {
    await this.begin(name);
    await this.write(`<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n${text}`);
  }

  async begin(name: string): Promise<void> {
    this.#entry?.push(new Uint8Array(), true);
    this.#entry = new ZipDeflate(name, { level: 6 });
    this.#zip.add(this.#entry);
  }

  async write(text: string): Promise<void> {
    this.#entry?.push(new TextEncoder().encode(text));
    if (this.#error) throw this.#error;
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain');
  }

  async close(): Promise<void> {
    this.#entry?.push(new Uint8Array(), true);
    this.#zip.end();
    if (!this.#stream.closed) await once(this.#stream, 'close');
    if (this.#error) throw this.#error;
  }
}
