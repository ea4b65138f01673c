import type { Log } from '../core/log.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { DEFAULT_TIMEOUTS } from '../http/timeouts.ts';
import { createTransport, type Transport } from '../http/transport.ts';

/** A dead-man's switch must never hold up what it watches. */
const TIMEOUT_MS = 5_000;

export interface HeartbeatOptions {
  /** http or https; `/start` and `/fail` are put behind its path. */
  readonly url: string;
  readonly log: Log;
  /** Names the proxy, as for the services. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly redactor: Redactor;
  /** @default 5000 */
  readonly timeoutMs?: number;
}

/**
 * Does `work` and tells the heartbeat: `/start` before it, the URL itself when all was done, `/fail` when it threw or
 * `succeeded` says no (the protocol of healthchecks.io). What goes wrong with the heartbeat is a warning, never the job's failure.
 */
export async function withHeartbeat<T>(
  options: HeartbeatOptions | undefined,
  succeeded: (result: T) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  if (!options) return work();
  const { env, redactor } = options;
  const transport = createTransport({ env, redactor, concurrency: 1, timeouts: DEFAULT_TIMEOUTS });
  const tell = (suffix: string) => ping(options, transport, suffix);
  await tell('/start');
  try {
    const result = await work();
    await tell(succeeded(result) ? '' : '/fail');
    return result;
  } catch (error) {
    await tell('/fail');
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
  // The path names the check and lets anyone report for it: only the host is said.
  const say = (what: string) => log.warn(`heartbeat at ${address.host}: ${what}`);
  try {
    const response = await fetch(address, {
      signal: AbortSignal.timeout(timeoutMs),
      headers: { 'user-agent': 'tidemark' },
    });
    await response.body?.cancel();
    if (!response.ok) say(`answered ${response.status}`);
  } catch (error) {
    say(reasonOf(error));
  }
}

/** fetch says why in its cause; its own message is "fetch failed". */
function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'no answer in time';
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'cannot be reached';
}
