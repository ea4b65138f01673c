import { uuid } from '../forge.ts';
import { createRandom } from '../prng.ts';
import type { Ask, Reply } from '../types.ts';

export type Body = Readonly<Record<string, unknown>>;

const HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' };

export const DONE: Reply = { status: 204 };

export function refuse(status: number, ...errors: readonly string[]): Reply {
  return { status, headers: HEADERS, body: `${JSON.stringify({ errors })}\n` };
}

/** A thing that is not there, and an empty list too (live-services.md B1). */
export const ABSENT: Reply = refuse(404);

export interface Lease {
  readonly id: string;
  readonly seconds: number;
}

/** The envelope around every answer with content (live-services.md B1). */
export function answer(ask: Ask, data: unknown, lease?: Lease): Reply {
  const random = createRandom(`${ask.method} ${ask.path} ${ask.now.getTime()} ${lease?.id ?? ''}`);
  const envelope = {
    request_id: uuid(random),
    lease_id: lease?.id ?? '',
    renewable: lease !== undefined,
    lease_duration: lease?.seconds ?? 0,
    data,
    wrap_info: null,
    warnings: null,
    auth: null,
  };
  return { status: 200, headers: HEADERS, body: `${JSON.stringify(envelope)}\n` };
}

export function answerNames(ask: Ask, names: Iterable<string>): Reply {
  const keys = [...names].sort();
  return keys.length === 0 ? ABSENT : answer(ask, { keys });
}

function parseBody(text: string): Body | undefined {
  if (text.trim() === '') return {};
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Body) : undefined;
  } catch {
    return undefined; // the caller answers 400
  }
}

/** A route's answer that needs a JSON object as body; no body counts as an empty one. */
export function withBody(reply: (body: Body, ask: Ask) => Reply): (ask: Ask) => Reply {
  return (ask) => {
    const body = parseBody(ask.body);
    return body ? reply(body, ask) : refuse(400, 'failed to parse JSON input');
  };
}

export function textIn(body: Body, field: string): string | undefined {
  const value = body[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** A list of strings, or one string with commas (secrets.md, payload forms). */
export function listIn(body: Body, field: string): string[] {
  const value = body[field];
  const parts = typeof value === 'string' ? value.split(',') : Array.isArray(value) ? value.map(String) : [];
  return parts.map((part) => part.trim()).filter((part) => part !== '');
}

/** A map of strings, or a list of `name=value`. */
export function mapIn(body: Body, field: string): Record<string, string> {
  const value = body[field];
  if (Array.isArray(value)) {
    return Object.fromEntries(
      value.map((pair) => {
        const [name = '', ...rest] = String(pair).split('=');
        return [name, rest.join('=')];
      }),
    );
  }
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name, String(text)]));
}
