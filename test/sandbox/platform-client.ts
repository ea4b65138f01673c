import type { RunningSandbox } from '../../sandbox/index.ts';

export interface Row {
  readonly id: string;
  readonly type: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

export interface Paged {
  readonly data: readonly Row[];
  readonly links: Readonly<Record<string, string | null>>;
  readonly meta: { readonly pagination: Readonly<Record<string, number | null>> };
}

export interface Call {
  readonly method?: string;
  readonly token?: string;
  readonly body?: unknown;
}

export const ORGANIZATION = '/organizations/acme';

/** One request to the platform below `/api/v2`, with the write token by default. */
export function call(
  sandbox: RunningSandbox,
  path: string,
  { method = 'GET', token, body }: Call = {},
): Promise<Response> {
  return fetch(`${sandbox.urls.platform}/api/v2${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token ?? sandbox.tokens.platform.write}`,
      'content-type': 'application/vnd.api+json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

export async function json<T>(answer: Promise<Response>): Promise<T> {
  return (await (await answer).json()) as T;
}

/** Every row of a query, page by page through `links.next`. */
export async function allRows(sandbox: RunningSandbox, query: string): Promise<Row[]> {
  const rows: Row[] = [];
  let next: string | null = `${sandbox.urls.platform}/api/v2${ORGANIZATION}/explorer?${query}&page[size]=100`;
  while (next !== null) {
    const answer = await fetch(next, { headers: { authorization: `Bearer ${sandbox.tokens.platform.read}` } });
    const page = (await answer.json()) as Paged;
    rows.push(...page.data);
    next = page.links.next ?? null;
  }
  return rows;
}

/** Status and first error of an answer. */
export async function refusal(answer: Promise<Response>): Promise<{ status: number; error: Record<string, unknown> }> {
  const response = await answer;
  const { errors } = (await response.json()) as { errors: Record<string, unknown>[] };
  return { status: response.status, error: errors[0] ?? {} };
}
