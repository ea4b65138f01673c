import type { Meter } from './meter.ts';

/** An answer that is larger than allowed; it is cut off there. */
export class TooLarge extends Error {
  constructor(maxBytes: number) {
    super(`larger than ${maxBytes} bytes`);
  }
}

export interface Arriving {
  readonly meter: Meter;
  /** Called for every part of the body that comes. */
  readonly arrived: () => void;
}

export interface Intake extends Arriving {
  readonly maxBytes: number;
}

/** Reads a body as text, never more than `maxBytes` of it. */
export async function readText(response: Response, intake: Intake): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of chunksOf(response, intake)) chunks.push(chunk);
  // At once: a text put together from pieces is put together again by everyone who looks into it.
  return new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
}

/**
 * The body in chunks, counted and bounded.
 * @throws TooLarge as soon as more than `maxBytes` have come (decompressed: a small transfer may unpack to a large one).
 */
export async function* chunksOf(
  response: Response,
  { maxBytes, meter, arrived }: Intake,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  if (response.body === null) return;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    arrived();
    bytes += chunk.byteLength;
    meter.bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new TooLarge(maxBytes);
    yield chunk;
  }
}
