import type { WorkContext } from '../../core/context.ts';
import { errorMessage } from '../../core/errors.ts';
import { classifyNetworkError, isNetworkError } from '../../http/errors.ts';
import { sameOriginRedirect } from '../../http/redirects.ts';
import { createRequestMetrics } from '../../http/request-metrics.ts';
import { readText } from '../../http/response-body.ts';
import { DEFAULT_TIMEOUTS, Deadline } from '../../http/timeouts.ts';
import { createTransport, type Transport } from '../../http/transport.ts';
import { type Fact, parseFacts } from './document.ts';

/** From the first request to the last answer: the facts are no reason to delay a night. */
const TIMEOUT_MS = 30_000;
/** The longest answer that is known has 50 KB. */
const MAX_BYTES = 4 * 1024 * 1024;
const CONCURRENCY = 2;
const MAX_REDIRECTS = 3;

/** Stands in `lifecycle.url` for the name of each product. */
const PLACEHOLDER = '{product}';
/** What is asked for at an address without a path, as endoflife.date has it. */
const API_PATH = `/api/v1/products/${PLACEHOLDER}`;

export interface AskedFacts {
  readonly facts: readonly Fact[];
  /** What was not answered, one line for each. */
  readonly problems: readonly string[];
}

interface Address {
  readonly url: URL;
  /** Undefined where one document has all products. */
  readonly product?: string;
}

/** Asks at `lifecycle.url`, once for each product if the address has a place for its name. A request that fails costs only its own facts. */
export async function askFacts(url: string, products: readonly string[], context: WorkContext): Promise<AskedFacts> {
  const { env, redactor } = context;
  const timeouts = { ...DEFAULT_TIMEOUTS, ...context.timeouts };
  const transport = createTransport({ env, redactor, concurrency: CONCURRENCY, timeouts });
  try {
    const answers = await Promise.all(listAddresses(url, products).map((address) => ask(address, transport, context)));
    return { facts: answers.flatMap(({ facts }) => facts), problems: answers.flatMap(({ problems }) => problems) };
  } finally {
    await transport.close();
  }
}

function listAddresses(url: string, products: readonly string[]): readonly Address[] {
  const { origin, pathname } = new URL(url);
  const template = pathname === '/' ? `${origin}${API_PATH}` : url;
  if (!template.includes(PLACEHOLDER)) return [{ url: new URL(template) }];
  return products.map((product) => ({ url: new URL(template.replaceAll(PLACEHOLDER, product)), product }));
}

async function ask(address: Address, transport: Transport, context: WorkContext): Promise<AskedFacts> {
  const { headersMs, idleMs, slowMs } = { ...DEFAULT_TIMEOUTS, ...context.timeouts };
  const deadline = new Deadline(context.signal, { wholeMs: TIMEOUT_MS, headersMs, idleMs, slowMs });
  deadline.start();
  try {
    const facts = parseFacts(await request(address.url, transport, deadline), 'the answer', context.clock.now());
    const other = facts.find(({ product }) => product !== (address.product ?? product));
    if (other) throw new Error(`the answer is about ${other.product}`);
    return { facts, problems: [] };
  } catch (error) {
    const reason = deadline.exceeded?.message ?? formatReason(error);
    return {
      facts: [],
      problems: [`lifecycle facts of ${address.product ?? 'all products'} from ${address.url.host}: ${reason}`],
    };
  } finally {
    deadline.dispose();
  }
}

async function request(url: URL, transport: Transport, deadline: Deadline, hops = 0): Promise<string> {
  const { signal } = deadline;
  const response = await transport.fetch(url, {
    signal,
    headers: { 'user-agent': 'tidemark', accept: 'application/json' },
  });
  deadline.touch();
  if (response.ok) {
    const touch = (bytes: number) => deadline.touch(bytes);
    return readText(response, { metrics: createRequestMetrics(), signal, maxBytes: MAX_BYTES, touch });
  }
  await response.body?.cancel();
  const next = sameOriginRedirect(url, 'GET', response);
  if (next && hops < MAX_REDIRECTS) return request(next, transport, deadline, hops + 1);
  throw new Error(`status ${response.status}`);
}

/** The message of fetch is always "fetch failed"; its cause has the reason. */
function formatReason(error: unknown): string {
  return isNetworkError(error) ? classifyNetworkError(error, DEFAULT_TIMEOUTS, false).message : errorMessage(error);
}
