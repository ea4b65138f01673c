import { repairUtf8 } from '../core/well-formed.ts';
import { AttemptError } from './errors.ts';

export interface BodyProgress {
  readonly metrics: RequestMetrics;
  /** Called for every chunk that arrives. */
  readonly touch: (bytes: number) => void;
  readonly signal: AbortSignal;
}

export interface BodyLimits extends BodyProgress {
  readonly maxBytes: number;
}

/** Reads a body as text. @throws AttemptError `too-large` */
export async function readText(response: Response, limits: BodyLimits): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of readChunks(response, limits)) chunks.push(chunk);
  // Decoded at once: V8 keeps a concatenated string as a rope and flattens it again for every search.
  return new TextDecoder().decode(repairUtf8(Buffer.concat(chunks), limits.metrics));
}

/**
 * The body in chunks, counted and bounded. The bound counts decompressed bytes: a small transfer may unpack to a large body.
 * @throws AttemptError `too-large` as soon as more than `maxBytes` have arrived; the signal's reason when it is aborted
 */
export async function* readChunks(response: Response, { maxBytes, metrics, touch, signal }: BodyLimits) {
  let bytes = 0;
  if (response.body === null) return;
  const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
  // The body is cancelled here as well as by fetch, whose own link to the signal is not ours to keep.
  const cancel = () => void reader.cancel(signal.reason).catch(() => undefined);
  signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      const { value: chunk, done } = await reader.read();
      signal.throwIfAborted();
      if (done) return;
      touch(chunk.byteLength);
      bytes += chunk.byteLength;
      metrics.bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new AttemptError({ failure: 'too-large', message: `larger than ${maxBytes} bytes` });
      yield chunk;
    }
  } finally {
    signal.removeEventListener('abort', cancel);
    void reader.cancel().catch(() => undefined); // not awaited: a branch of a cloned body may never settle
  }
}

/** Request counters of one extraction. The table `pulls` stores them for each source. */
export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

export function createRequestMetrics() {
  return {
    /** Requests sent, retries included. */
    requests: 0,
    retries: 0,
    /** Responses with status 429. */
    throttled: 0,
    /** Time spent waiting for the rate limiter, for a pause that the service asked for, or before a retry, in milliseconds. */
    throttleWaitMs: 0,
    /** Bytes of the bodies received, decompressed. */
    bytes: 0,
    /** Rows in the responses so far; for the progress display only. */
    rows: 0,
    /** Objects that are as the last pull read them, and were not read again. */
    reused: 0,
    /** Texts that were not valid Unicode, and were mended. */
    replaced: 0,
  };
}
