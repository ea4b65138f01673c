import type { RunningSandbox } from '../../sandbox/index.ts';
import type { Kind } from '../../sandbox/types.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

export interface Sending {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One request to a service below `/v1`, with its write token unless other headers are given. */
export async function ask(
  sandbox: RunningSandbox,
  kind: Kind,
  line: string,
  { body, headers }: Sending = {},
): Promise<Answer> {
  const [method = 'GET', path = '/'] = line.split(' ');
  const response = await fetch(`${sandbox.urls[kind]}/v1${path}`, {
    method,
    headers: headers ?? { authorization: `Bearer ${sandbox.tokens[kind].write}` },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** The parsed body of an answer that must be 200. */
export async function read<T>(sandbox: RunningSandbox, kind: Kind, line: string): Promise<T> {
  const { status, text } = await ask(sandbox, kind, line);
  if (status !== 200) throw new Error(`${line}: ${status} ${text}`);
  return JSON.parse(text) as T;
}

/** The `data` of a secrets answer. */
export async function data<T>(sandbox: RunningSandbox, line: string): Promise<T> {
  return (await read<{ data: T }>(sandbox, 'secrets', line)).data;
}
