import type { WorkContext } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import { classifyNetworkError, isNetworkError } from '../../http/errors.ts';
import { createRequestMetrics } from '../../http/request-metrics.ts';
import { readText } from '../../http/response-body.ts';
import { DEFAULT_TIMEOUTS } from '../../http/timeouts.ts';
import { createTransport, type Transport } from '../../http/transport.ts';
import { type Fact, parseFacts } from './document.ts';

/** All requests together. The facts are no reason to delay a night. */
const TIMEOUT_MS = 30_000;
/** The longest answer that is known has 50 KB. */
const MAX_BYTES = 4 * 1024 * 1024;
const CONCURRENCY = 2;

/** Stands in `lifecycle.url` for the name of each product. */
const PLACEHOLDER = '{product}';
/** What is asked for at an address without a path, as endoflife.date has it. */
const API_PATH = `api/v1/products/${PLACEHOLDER}`;

export interface AskedFacts {
  readonly facts: readonly Fact[];
  /** What was not answered, one line for each. */
  readonly problems: readonly string[];
}

/** Asks for the facts at `lifecycle.url`, once for each product if the address has a place for its name. A request that fails costs only its own facts. */
export async function askFacts(url: string, products: readonly string[], context: WorkContext): Promise<AskedFacts> {
  const { env, redactor, timeouts } = context;
  const limits = { ...DEFAULT_TIMEOUTS, ...timeouts };
  const transport = createTransport({ env, redactor, concurrency: CONCURRENCY, timeouts: limits });
  const signal = AbortSignal.any([context.signal, AbortSignal.timeout(Math.min(TIMEOUT_MS, limits.responseMs))]);
  try {
    const answers = await Promise.all(
      listAddresses(url, products).map(async ({ address, name }): Promise<AskedFacts> => {
        try {
          const text = await request(address, transport, signal);
          return { facts: parseFacts(text, `the answer for ${name}`, context.clock.now()), problems: [] };
        } catch (error) {
          const reason = signal.aborted ? 'timed out' : formatReason(error);
          return { facts: [], problems: [`lifecycle facts of ${name} from ${address.host}: ${reason}`] };
        }
      }),
    );
    return { facts: answers.flatMap(({ facts }) => facts), problems: answers.flatMap(({ problems }) => problems) };
  } finally {
    await transport.close();
  }
}

function listAddresses(url: string, products: readonly string[]) {
  const template = new URL(url).pathname === '/' ? new URL(url).origin.concat('/', API_PATH) : url;
  if (!template.includes(PLACEHOLDER)) return [{ address: new URL(template), name: 'all products' }];
  return products.map((name) => ({ address: new URL(template.replaceAll(PLACEHOLDER, name)), name }));
}

async function request(address: URL, { fetch }: Transport, signal: AbortSignal): Promise<string> {
  const response = await fetch(address, {
    signal,
    headers: { 'user-agent': 'tidemark', accept: 'application/json' },
  });
  if (response.ok) {
    const metrics = createRequestMetrics();
    return readText(response, { metrics, signal, maxBytes: MAX_BYTES, touch: () => undefined });
  }
  await response.body?.cancel();
  throw new Error(`status ${response.status}`);
}

/** The message of fetch is always "fetch failed"; its cause has the reason. */
function formatReason(error: unknown): string {
  return isNetworkError(error) ? classifyNetworkError(error, DEFAULT_TIMEOUTS, false).message : errorMessage(error);
}
