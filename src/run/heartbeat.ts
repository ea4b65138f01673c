import { findUrlSecrets } from '../config/secrets.ts';
import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { DEFAULT_TIMEOUTS } from '../http/timeouts.ts';
import { createTransport, type Transport } from '../http/transport.ts';

/** A dead-man's switch must not delay the job. */
const TIMEOUT_MS = 5_000;

export interface HeartbeatOptions {
  /** http or https; `/start` and `/fail` are appended to its path. */
  readonly url: string;
  readonly log: Log;
  /** Source of the proxy settings. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  /** @default 5000 */
  readonly timeoutMs?: number;
}

/**
 * Reports `work` to a heartbeat, by the protocol of healthchecks.io: `/start` before it, the URL itself on success, `/fail` if it
 * throws or `succeeded` is false. A heartbeat that fails is a warning, never a failure of the job.
 */
export async function withHeartbeat<T>(
  options: HeartbeatOptions | undefined,
  succeeded: (result: T) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  if (!options) return work();
  const { env, redactor } = options;
  for (const secret of findUrlSecrets(options.url)) redactor.add(secret);
  const transport = createTransport({ env, redactor, concurrency: 1, timeouts: DEFAULT_TIMEOUTS });
  const report = (suffix: string) => ping(options, transport, suffix);
  await report('/start');
  try {
    const result = await work();
    await report(succeeded(result) ? '' : '/fail');
    return result;
  } catch (error) {
    await report('/fail');
    throw error;
  } finally {
    await transport.close();
  }
}

async function ping(
  { url, log, timeoutMs = TIMEOUT_MS }: HeartbeatOptions,
  { fetch }: Transport,
  suffix: string,
): Promise<void> {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/+$/u, '')}${suffix}`;
  // Anyone who knows the path can report: the log names only the host.
  const warn = (reason: string) => log.warn(`heartbeat at ${address.host}: ${reason}`);
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(address, { signal, headers: { 'user-agent': 'tidemark' } });
    await response.body?.cancel();
    if (!response.ok) warn(`returned status ${response.status}`);
  } catch (error) {
    warn(signal.aborted ? 'timed out' : formatReason(error));
  }
}

/** The message of fetch is always "fetch failed"; its cause has the reason. */
function formatReason(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'cannot be reached';
}
