import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import type { Writable } from 'node:stream';
import { finished, pipeline } from 'node:stream/promises';
import { crc32, createDeflateRaw } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';
import { TidemarkError } from '../../core/errors.ts';

/** The largest entry of a ZIP archive without its 64-bit extension, which readers of spreadsheets need not know. */
const MAX_ENTRY_BYTES = 2 ** 32 - 1;
/** A third smaller than level 1 for the XML of a sheet in the same time; level 6 saves a twentieth more for a third more time. */
const LEVEL = 3;

/** The name of an entry and its text in parts. */
type Entry = readonly [name: string, parts: AsyncIterable<string> | Iterable<string>];

/** Writes a ZIP archive: of an entry, only what is being compressed is in memory. @throws TidemarkError DATA for an entry of 4 GiB */
export async function writeZip(path: string, entries: readonly Entry[]): Promise<void> {
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
      if (file.size > MAX_ENTRY_BYTES) throw tooLarge();
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

function tooLarge(): TidemarkError {
  return new TidemarkError('DATA', 'the result is larger than a workbook can hold: 4 GiB of XML', {
    hint: 'select less, or write .csv or .parquet',
  });
}
