import { findUrlSecrets } from '../config/secrets.ts';
import type { WorkContext } from '../core/context.ts';
import { DEFAULT_TIMEOUTS } from '../http/retry.ts';
import { createTransport, type Transport } from '../http/transport.ts';

/** A dead-man's switch must not delay the job. */
const TIMEOUT_MS = 5_000;

/** Where to report; the proxy settings are in the environment. */
interface HeartbeatOptions extends Pick<WorkContext, 'log' | 'env' | 'redactor'> {
  /** http or https; `/start` and `/fail` are appended to its path. Without it, only the work runs. */
  readonly url: string | undefined;
  /** @default 5000 */
  readonly timeoutMs?: number;
}

/**
 * Reports `work` to a heartbeat, by the protocol of healthchecks.io: `/start` before it, the URL itself on success, `/fail` if it
 * throws or `succeeded` is false. A heartbeat that fails is a warning, never a failure of the job.
 */
export async function withHeartbeat<T>(
  { url, log, env, redactor, timeoutMs = TIMEOUT_MS }: HeartbeatOptions,
  succeeded: (result: T) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  if (url === undefined) return work();
  for (const secret of findUrlSecrets(url)) redactor.add(secret);
  const transport = createTransport({ env, redactor, concurrency: 1, timeouts: DEFAULT_TIMEOUTS });
  const report = async (suffix: string) => {
    const problem = await ping(url, transport, suffix, timeoutMs);
    // Anyone who knows the path can report: the log names only the host.
    if (problem !== undefined) log.warn(`heartbeat at ${new URL(url).host}: ${problem}`);
  };
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

/** @returns why it failed */
async function ping(url: string, { fetch }: Transport, suffix: string, timeoutMs: number): Promise<string | undefined> {
  const address = new URL(url);
  address.pathname = `${address.pathname.replace(/\/+$/u, '')}${suffix}`;
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(address, { signal, headers: { 'user-agent': 'tidemark' } });
    await response.body?.cancel();
    return response.ok ? undefined : `returned status ${response.status}`;
  } catch (error) {
    return signal.aborted ? 'timed out' : formatReason(error);
  }
}

/** The message of fetch is always "fetch failed"; its cause has the reason. */
function formatReason(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? cause.code : 'cannot be reached';
}
