import type { RequestMetrics } from './request-metrics.ts';

/** A response body larger than allowed. The rest of it is not read. */
export class ResponseTooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`larger than ${maxBytes} bytes`);
    this.name = 'ResponseTooLargeError';
  }
}

export interface BodyProgress {
  readonly metrics: RequestMetrics;
  /** Called for every chunk that arrives. */
  readonly touch: () => void;
}

export interface BodyLimits extends BodyProgress {
  readonly maxBytes: number;
}

/** Reads a body as text. @throws ResponseTooLargeError */
export async function readText(response: Response, limits: BodyLimits): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readChunks(response, limits)) chunks.push(chunk);
  // Decoded at once: V8 keeps a concatenated string as a rope and flattens it again for every search.
  return new TextDecoder().decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks));
}

/**
 * The body in chunks, counted and bounded. The bound counts decompressed bytes: a small transfer may unpack to a large body.
 * @throws ResponseTooLargeError as soon as more than `maxBytes` have arrived.
 */
export async function* readChunks(
  response: Response,
  { maxBytes, metrics, touch }: BodyLimits,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  if (response.body === null) return;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    touch();
    bytes += chunk.byteLength;
    metrics.bytes += chunk.byteLength;
    if (bytes > maxBytes) throw new ResponseTooLargeError(maxBytes);
    yield chunk;
  }
}
