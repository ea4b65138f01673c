import { findUrlSecrets } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { errorMessage } from '../core/errors.ts';
import { getText } from './get-text.ts';

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
  const report = async (end: '' | 'start' | 'fail') => {
    const address = new URL(url);
    if (end) address.pathname = `${address.pathname.replace(/\/+$/u, '')}/${end}`;
    const { signal } = new AbortController(); // the end of a run that is stopped is reported as well
    await getText(address, { env, redactor, signal }, timeoutMs).catch((error: unknown) => {
      // Anyone who knows the path can report: the log names only the host.
      log.warn(`heartbeat at ${address.host}: ${errorMessage(error)}`);
    });
  };
  await report('start');
  try {
    const result = await work();
    await report(succeeded(result) ? '' : 'fail');
    return result;
  } catch (error) {
    await report('fail');
    throw error;
  }
}
