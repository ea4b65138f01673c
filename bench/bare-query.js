// The reference for `tidemark sql`: writes the result of a query with DuckDB's Node API alone. What DuckDB cannot write by COPY is made of
// the rows of one chunk after another, as the manual of the Node API shows it: the same bytes as Tidemark writes.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { crc32, createDeflateRaw } from 'node:zlib';
import { DuckDBInstance, DuckDBTimestampTZValue } from '@duckdb/node-api';
import { Zip } from 'fflate';

const COPY_OPTIONS = {
  csv: 'format csv',
  json: 'format json, array true',
  ndjson: 'format json',
  parquet: 'format parquet',
};
const BY_ROWS = { table: writeTable, line: writeLines, markdown: writeMarkdown, xlsx: writeXlsx };

const [database, query, target, format] = process.argv.slice(2);
const instance = await DuckDBInstance.create(database, { access_mode: 'READ_ONLY', memory_limit: '1GB' });
const connection = await instance.connect();
if (format in BY_ROWS) await writeRows(BY_ROWS[format]);
else await connection.run(`copy (${query}) to '${target}' (${COPY_OPTIONS[format]})`);
connection.closeSync();
instance.closeSync();

async function writeRows(writeAll) {
  const result = await connection.stream(query);
  const names = result.columnNames();
  const file = createWriteStream(target);
  const write = async (data) => {
    if (!file.write(data)) await once(file, 'drain');
  };
  await writeAll(readRows(result), names, write);
  file.end();
  await once(file, 'close');
}

async function* readRows(result) {
  for (;;) {
    const chunk = await result.fetchChunk();
    if (!chunk || chunk.rowCount === 0) return;
    yield chunk.getRows();
  }
}

/** Text as Tidemark writes it: times in ISO 8601. */
function showValue(value) {
  if (value === null) return '';
  if (typeof value === 'number') return Number.isInteger(value) ? value.toFixed(1) : String(value);
  if (!(value instanceof DuckDBTimestampTZValue)) return String(value);
  return new Date(Number(value.micros / 1000n)).toISOString().replace('.000Z', 'Z');
}

/** With the widths of the first thousand rows. */
async function writeTable(chunks, names, write) {
  const columns = names.map((name) => ({ label: name.toUpperCase(), width: name.length, isRight: false }));
  let count = 0;
  for await (const rows of chunks) {
    const texts = rows.map((row) => row.map(showValue));
    if (count === 0) {
      for (const [index, column] of columns.entries()) {
        column.isRight = typeof rows[0][index] === 'bigint' || typeof rows[0][index] === 'number';
        column.width = Math.max(column.width, ...texts.slice(0, 1000).map((row) => row[index].length));
      }
      await write(formatRow(columns.map(({ label }) => label)));
    }
    await write(texts.map(formatRow).join(''));
    count += rows.length;
  }
  await write(`(${count} rows)\n`);

  function formatRow(cells) {
    const padded = cells.map((cell, index) => {
      const { width, isRight } = columns[index];
      return isRight ? cell.padStart(width) : cell.padEnd(width);
    });
    return `${padded.join('  ').trimEnd()}\n`;
  }
}

async function writeLines(chunks, names, write) {
  const width = Math.max(...names.map((name) => name.length));
  const labels = names.map((name) => name.padStart(width));
  let isFirst = true;
  for await (const rows of chunks) {
    const texts = rows.map((row) => row.map((value, index) => `${labels[index]} = ${showValue(value)}\n`).join(''));
    await write((isFirst ? '' : '\n') + texts.join('\n'));
    isFirst = false;
  }
}

async function writeMarkdown(chunks, names, write) {
  const escapeCell = (text) =>
    text
      .replace(/[\\|]/gu, '\\$&')
      .replaceAll('<', '&lt;')
      .replace(/\s*[\n\r]\s*/gu, '<br>');
  const formatRow = (cells) => `| ${cells.join(' | ')} |\n`;
  await write(formatRow(names.map(escapeCell)) + formatRow(names.map(() => '---')));
  for await (const rows of chunks) {
    await write(rows.map((row) => formatRow(row.map((value) => escapeCell(showValue(value))))).join(''));
  }
}

/** The sheet of a workbook in a ZIP archive, compressed by zlib at its default level. */
async function writeXlsx(chunks, names, write) {
  let written;
  const zip = new Zip((_error, data) => {
    written = write(data);
  });
  const sheet = { filename: 'xl/worksheets/sheet1.xml', size: 0, crc: 0, compression: 8 };
  zip.add(sheet);
  const deflate = createDeflateRaw();
  deflate.on('data', (data) => sheet.ondata(null, data, false));
  const add = async (text) => {
    const data = Buffer.from(text);
    sheet.size += data.length;
    sheet.crc = crc32(data, sheet.crc);
    if (!deflate.write(data)) await once(deflate, 'drain');
    await written;
  };
  const escapeXml = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const cell = (text) => `<c t="inlineStr"><is><t xml:space="preserve">${escapeXml(text)}</t></is></c>`;
  const formatCell = (value) => {
    if (value === null) return '<c/>';
    return typeof value === 'bigint' || typeof value === 'number' ? `<c><v>${value}</v></c>` : cell(showValue(value));
  };
  await add(`<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>`);
  await add(`<row>${names.map(cell).join('')}</row>`);
  for await (const rows of chunks) {
    await add(rows.map((row) => `<row>${row.map(formatCell).join('')}</row>`).join(''));
  }
  await add('</sheetData></worksheet>');
  deflate.end();
  await once(deflate, 'end');
  sheet.ondata(null, new Uint8Array(), true);
  zip.end();
  await written;
}
