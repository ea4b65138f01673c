import { DEFAULT_TIMEOUTS, type WorkContext } from '../core/context.ts';
import { decodeUri } from '../core/decode-uri.ts';
import { classifyAttempt } from '../http/classify-attempt.ts';
import { sameOriginRedirect } from '../http/client.ts';
import { createRequestMetrics, readText } from '../http/response-body.ts';
import { startDeadline } from '../http/retry.ts';
import { createTransport } from '../http/transport.ts';

/** The longest answer that is known has 50 KB. */
const MAX_BYTES = 4 * 1024 * 1024;
const MAX_REDIRECTS = 3;

/**
 * Asks an address that is no service of a target: without a token, without a rate and once, since nothing depends on the answer.
 * @param timeoutMs to the last byte
 * @throws Error with the reason, which does not contain the address
 */
export async function getText(
  url: URL,
  { env, redactor, signal }: Pick<WorkContext, 'env' | 'redactor' | 'signal'>,
  timeoutMs: number,
): Promise<string> {
  const { address: start, login } = takeLogin(url);
  const deadline = startDeadline(signal, timeoutMs, { headersMs: timeoutMs, idleMs: timeoutMs, slowMs: timeoutMs });
  const transport = createTransport({ env, redactor, concurrency: 1, timeouts: DEFAULT_TIMEOUTS });
  const headers = { 'user-agent': 'tidemark', accept: 'application/json', ...login };
  const request = async (address: URL, redirects: number): Promise<string> => {
    const init = { signal: deadline.signal, headers };
    const response = await transport.fetch(address, init);
    if (response.ok) {
      const limits = { metrics: createRequestMetrics(), signal: deadline.signal, maxBytes: MAX_BYTES, touch: () => {} };
      return readText(response, limits);
    }
    await response.body?.cancel();
    const next = sameOriginRedirect(address, 'GET', response);
    if (next && redirects > 0) return request(next, redirects - 1);
    throw new Error(`status ${response.status}`);
  };
  try {
    return await request(start, MAX_REDIRECTS);
  } catch (error) {
    throw new Error((deadline.exceeded() ?? classifyAttempt(error, DEFAULT_TIMEOUTS, false)).message);
  } finally {
    deadline.dispose();
    await transport.close();
  }
}

/** fetch refuses an address with a user and a password. */
function takeLogin(url: URL) {
  const { username, password } = url;
  const address = Object.assign(new URL(url), { username: '', password: '' });
  if (username === '' && password === '') return { address, login: {} };
  const pair = [username, password].map(decodeUri).join(':');
  return { address, login: { authorization: `Basic ${Buffer.from(pair).toString('base64')}` } };
}
