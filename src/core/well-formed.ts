import { isUtf8 } from 'node:buffer';

/**
 * Services may send half of a pair of surrogates, which no text has: JSON escapes it, CSV has its three bytes. DuckDB refuses the whole
 * file for it. U+FFFD replaces it, and other bytes that are not UTF-8, as every decoder does.
 */
interface Replaced {
  /** Counts the places. */
  replaced: number;
}

const REPLACEMENT = '\uFFFD';
/** Bytes of the longest character. */
const MAX_CHARACTER = 4;
/** Half of a pair as bytes, in a text where each character is one byte. In UTF-8, no byte from A0 on follows ED. */
const HALF_BYTES = /\u00ED[\u00A0-\u00BF][\u0080-\u00BF]/gu;

/** Bytes of whole characters as UTF-8. */
export function repairUtf8(bytes: Buffer, metrics: Replaced): Buffer {
  if (isUtf8(bytes)) return bytes;
  const bytesOfReplacement = Buffer.from(REPLACEMENT).toString('latin1');
  const repaired = Buffer.from(bytes.toString('latin1').replaceAll(HALF_BYTES, bytesOfReplacement), 'latin1');
  metrics.replaced++;
  return isUtf8(repaired) ? repaired : Buffer.from(new TextDecoder('utf-8', { ignoreBOM: true }).decode(repaired));
}

/** Escapes of JSON: a pair, half of a pair, any other. */
const ESCAPES = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./gsu;

/** JSON without halves of pairs. */
export function repairEscapes(json: string, metrics: Replaced = { replaced: 0 }): string {
  if (!json.includes('\\ud') && !json.includes('\\uD')) return json;
  return json.replaceAll(ESCAPES, (whole: string, half?: string) => {
    if (half === undefined) return whole;
    metrics.replaced++;
    return '\\ufffd';
  });
}

/** Blocks of a body as UTF-8, cut between characters. */
export async function* repairBlocks(blocks: AsyncIterable<Buffer>, metrics: Replaced): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const block of blocks) {
    const bytes = rest.length === 0 ? block : Buffer.concat([rest, block]);
    const end = findLastCharacter(bytes);
    rest = bytes.subarray(end);
    if (end > 0) yield repairUtf8(bytes.subarray(0, end), metrics);
  }
  if (rest.length > 0) yield repairUtf8(rest, metrics);
}

/** Where the last character begins, unless it is ASCII: the next block may have the rest of it. */
function findLastCharacter(bytes: Buffer): number {
  let at = bytes.length - 1;
  if ((bytes[at] ?? 0) < 0x80) return bytes.length; // so that most blocks are not copied
  while (at > bytes.length - MAX_CHARACTER && ((bytes[at] ?? 0) & 0xc0) === 0x80) at--;
  return Math.max(0, at);
}
