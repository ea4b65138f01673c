import type { Meter } from './meter.ts';

/** An answer that is larger than allowed; it is cut off there. */
export class TooLarge extends Error {
  readonly maxBytes: number;

  constructor(maxBytes: number) {
    super(`larger than ${maxBytes} bytes`);
    this.maxBytes = maxBytes;
  }
}

/** Reads a body as text, never more than `maxBytes` of it. */
export async function readText(response: Response, maxBytes: number, meter: Meter): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunksOf(response, maxBytes, meter)) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

/**
 * The body in chunks, counted and bounded.
 * @throws TooLarge as soon as more than `maxBytes` have come (decompressed: a small transfer may unpack to a large one).
 */
export async function* chunksOf(response: Response, maxBytes: number, meter: Meter): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  if (response.body === null) return;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    meter.bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TooLarge(maxBytes);
    yield chunk;
  }
}
