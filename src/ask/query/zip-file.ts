import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { crc32, createDeflateRaw, type DeflateRaw } from 'node:zlib';
import { Zip, type ZipInputFile } from 'fflate';
import { TidemarkError } from '../../core/errors.ts';

/** The largest entry of a ZIP archive without its 64-bit extension, which readers of spreadsheets need not know. */
const MAX_ENTRY_BYTES = 2 ** 32 - 1;
/** A third smaller than level 1 for the XML of a sheet in the same time; level 6 saves a twentieth more for a third more time. */
const LEVEL = 3;

/** An entry under way: its bytes go through `deflate`, on a thread of their own, into the archive. */
interface Entry {
  readonly file: ZipInputFile;
  readonly deflate: DeflateRaw;
}

/** A ZIP archive that is written as it grows: of an entry, only what is being compressed is in memory. */
export class ZipFile {
  readonly #stream;
  readonly #zip: Zip;
  #entry: Entry | undefined;
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
    await this.write(text);
  }

  async begin(name: string): Promise<void> {
    await this.#endEntry();
    const file: ZipInputFile = { filename: name, size: 0, crc: 0, compression: 8 };
    this.#zip.add(file);
    const deflate = createDeflateRaw({ level: LEVEL, chunkSize: 64 * 1024 });
    deflate.on('data', (data: Uint8Array<ArrayBuffer>) => file.ondata?.(null, data, false));
    deflate.on('error', (error) => (this.#error ??= error));
    this.#entry = { file, deflate };
  }

  /** Appends to the entry. @throws TidemarkError DATA where it becomes larger than an archive can hold. */
  async write(text: string): Promise<void> {
    if (!this.#entry) throw new Error('no entry of the archive was begun');
    const { file, deflate } = this.#entry;
    const data = Buffer.from(text);
    file.crc = crc32(data, file.crc);
    file.size += data.length;
    if (file.size > MAX_ENTRY_BYTES) {
      throw new TidemarkError('DATA', 'the result is larger than a workbook can hold: 4 GiB of XML', {
        hint: 'select less, or write .csv or .parquet',
      });
    }
    // The last part is compressed while the caller makes this one.
    if (deflate.writableNeedDrain) await once(deflate, 'drain');
    if (this.#stream.writableNeedDrain) await once(this.#stream, 'drain');
    deflate.write(data);
    if (this.#error) throw this.#error;
  }

  /** Completes the archive. */
  async close(): Promise<void> {
    await this.#endEntry();
    this.#zip.end();
    if (!this.#stream.closed) await once(this.#stream, 'close');
    if (this.#error) throw this.#error;
  }

  async #endEntry(): Promise<void> {
    if (!this.#entry) return;
    const { file, deflate } = this.#entry;
    this.#entry = undefined;
    deflate.end();
    await once(deflate, 'end');
    file.ondata?.(null, new Uint8Array(), true);
  }
}
