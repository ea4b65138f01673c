import { TidemarkError } from '../core/errors.ts';

/** A header is one block, and the content of a file is filled up to a whole number of blocks. */
export const TAR_BLOCK = 512;
export const MAX_TAR_NAME_BYTES = 100;

export interface TarHeader {
  readonly name: string;
  /** Size of the content. */
  readonly bytes: number;
  /** Seconds since 1970. */
  readonly modifiedSeconds: number;
}

/** Fields of a header: position and length in bytes (POSIX.1-1988, "ustar"). */
const NAME = [0, MAX_TAR_NAME_BYTES] as const;
const MODE = [100, 8] as const;
const USER = [108, 8] as const;
const GROUP = [116, 8] as const;
const SIZE = [124, 12] as const;
const MODIFIED = [136, 12] as const;
const CHECKSUM = [148, 8] as const;
const TYPE = 156;
const MAGIC = 257;

/** @throws TidemarkError DATA for more than 8 GiB, which a header cannot say */
export function formatTarHeader({ name, bytes, modifiedSeconds }: TarHeader): Buffer {
  const header = Buffer.alloc(TAR_BLOCK);
  const writeOctal = ([start, length]: readonly [number, number], value: number) => {
    const digits = value.toString(8).padStart(length - 1, '0');
    if (digits.length >= length) throw new TidemarkError('DATA', `${name} is too large for an archive: ${bytes} bytes`);
    header.write(digits, start, 'latin1');
  };
  header.write(name, ...NAME);
  writeOctal(MODE, 0o600);
  writeOctal(USER, 0);
  writeOctal(GROUP, 0);
  writeOctal(SIZE, bytes);
  writeOctal(MODIFIED, modifiedSeconds);
  header.write('0', TYPE, 'latin1');
  header.write('ustar\x0000', MAGIC, 'latin1');
  writeOctal(CHECKSUM, sumBytes(header));
  return header;
}

/** Reads the header of a file; `end` for the empty block after the last one. */
export function parseTarHeader(block: Buffer): TarHeader | 'end' | 'invalid' {
  if (block.every((byte) => byte === 0)) return 'end';
  const readText = ([start, length]: readonly [number, number]) =>
    block.toString('utf8', start, start + length).replace(/\0.*$/su, '');
  const readOctal = (field: readonly [number, number]) => {
    const digits = readText(field).trim();
    return /^[0-7]{1,11}$/u.test(digits) ? Number.parseInt(digits, 8) : undefined;
  };
  const [bytes, modifiedSeconds] = [readOctal(SIZE), readOctal(MODIFIED)];
  if (bytes === undefined || modifiedSeconds === undefined || readOctal(CHECKSUM) !== sumBytes(block)) return 'invalid';
  return { name: readText(NAME), bytes, modifiedSeconds };
}

/** The sum of all bytes of a header, with spaces in place of the sum itself. */
function sumBytes(header: Buffer): number {
  const [start, length] = CHECKSUM;
  return header.reduce((sum, byte, at) => sum + (at >= start && at < start + length ? 0x20 : byte), 0);
}
