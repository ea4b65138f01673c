import { formatSeconds, MINUTE_MS } from '../core/clock.ts';
import { findContradiction, parseJson } from '../core/json.ts';
import { isObject, listAt, textAt, valueAt } from '../core/json-path.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { collectSecretFields, mayContainSecret } from '../core/redact/secret-fields.ts';
import { repairEscapes } from '../core/well-formed.ts';
import { extractErrorMessage, looksLikeHtml } from '../http/error-message.ts';
import { AttemptError } from '../http/errors.ts';
import { type BodyProgress, readText } from '../http/response-body.ts';
import { classifyError, isEmptyList } from './classify-error.ts';
import type { Args, Operation } from './operation.ts';

export interface ServiceResponse {
  readonly status: number;
  readonly headers: Headers;
  /** The body as it was sent, with all digits of its numbers. */
  readonly text: string;
  /** The parsed body, with integers beyond 2^53 as bigint; undefined when it is empty. @throws SyntaxError when it is not JSON */
  json(): unknown;
}

/** The parsed body; `otherwise` where it is not JSON. The documents do not show the response of most writes. */
export function jsonOr(response: ServiceResponse, otherwise: unknown): unknown {
  try {
    return response.json();
  } catch (error) {
    if (error instanceof SyntaxError) return otherwise;
    throw error;
  }
}

export interface ResponsePage extends ServiceResponse {
  readonly items: readonly unknown[];
  /** Number of rows on all pages, if the service reports it. */
  readonly total: number | undefined;
}

interface ReadContext {
  readonly operation: Operation;
  readonly args: Args;
  readonly permission: string;
  readonly redactor: Redactor;
  readonly maxBytes: number;
  /** Whether the request allows the answer 304. */
  readonly isConditional: boolean;
  /** How old an answer may be. */
  readonly maxPastMs: number;
  /** Whether an object may have a name twice, with two values. */
  readonly mayRepeatNames: boolean;
}

/** At most this much of an error's body is read. */
const MAX_ERROR_BYTES = 1024 * 1024;

/** Reads a response. @throws AttemptError unless the status is a success and the body has the operation's `responseType` */
export async function readResponse(response: Response, progress: BodyProgress, context: ReadContext) {
  const { operation, args, redactor, maxBytes } = context;
  const { status, headers } = response;
  if (status === 304 && context.isConditional) {
    await response.body?.cancel();
    assertPresent(context, response);
    return toResponse(status, headers, '');
  }
  const isSuccess = response.ok || (operation.responseType === 'health' && status === 503);
  const body = await readText(response, { ...progress, maxBytes: isSuccess ? maxBytes : MAX_ERROR_BYTES });
  if (!isSuccess && !isEmptyList(operation, status, body)) throw toFailure(context, response, body);
  assertPresent(context, response);
  // An empty LIST returns 404: docs/services/secrets.md#listing.
  if (!isSuccess) return toResponse(200, headers, '{"data":{"keys":[]}}');
  const text = isText(operation, args) ? body : repairEscapes(body, progress.metrics);
  const result = toResponse(status, headers, text);
  checkShape(context, result);
  // No read of the platform returns a secret, and its pages are many and large. A plugin may create a token.
  const mayShowSecret = operation.kind !== 'platform' || operation.mutates;
  // Makes the redactor mask generated tokens and private keys; the caller still gets them.
  const mask = (secret: string) => (operation.mutates ? redactor.add(secret) : redactor.learn(secret));
  if (mayShowSecret && mayContainSecret(text)) collectSecretFields(jsonOr(result, ''), mask);
  return result;
}

const LEADERLESS = 'check that the cluster has a leader, and that the agent of `url` reaches it';
const CACHED = 'a cache has answered: check what is in front of the service';
/** Nomad and Consul answer from what they last knew, and a cache from what it has kept. What is older does not show the present. */
export const MAX_PAST_MS = 10 * MINUTE_MS;

/** @throws AttemptError for an answer of the past: docs/services/scheduler.md#errors, docs/services/mesh.md#errors */
export function assertPresent({ operation, maxPastMs }: ReadContext, { status, headers }: Response): void {
  const message = explainPast(operation, headers, maxPastMs);
  if (message === undefined) return;
  const hint = headers.has('age') && operation.kind !== 'mesh' ? CACHED : LEADERLESS; // Consul's agent is a cache itself
  throw new AttemptError({ failure: 'server', status, message, retryable: 'yes', hint });
}

function explainPast({ name, kind, mutates }: Operation, headers: Headers, maxMs: number): string | undefined {
  if (mutates) return undefined;
  const read = (field: string) => headers.get(`${kind === 'mesh' ? 'x-consul' : 'x-nomad'}-${field}`);
  // What a storage plugin lists has the index 0, and no leader.
  if (read('knownleader') === 'false' && read('index') !== '0')
    return 'the answer is stale: the server knows no leader';
  // A leaf is as old as its certificate, which an agent keeps for days; the public registry is behind a cache.
  const age = name === 'mesh.ca-leaf.read' || kind === 'registry' ? 0 : Number(headers.get('age')) || 0;
  const pastMs = Math.max(Number(read('lastcontact')) || 0, age * 1000);
  return pastMs > maxMs ? `the answer is stale: it is of ${formatSeconds(pastMs)} ago` : undefined;
}

/** The failure that a response without success tells. */
export async function readFailure(response: Response, progress: BodyProgress, context: ReadContext) {
  return toFailure(context, response, await readText(response, { ...progress, maxBytes: MAX_ERROR_BYTES }));
}

/** Redacts the text before its message is extracted: extraction folds white space, which would hide a multi-line key. */
function toFailure({ operation, permission, redactor }: ReadContext, response: Response, text: string) {
  return new AttemptError(classifyError(operation, response, redactor.text(text), redactor.text(permission)));
}

function toResponse(status: number, headers: Headers, text: string): ServiceResponse {
  let parsed: { readonly value: unknown } | undefined;
  return {
    status,
    headers,
    text,
    json() {
      parsed ??= { value: text.trim() === '' ? undefined : parseJson(text) };
      return parsed.value;
    },
  };
}

/** Of Vault Enterprise: nobody has read anything until others have approved it. */
const WRAPPED = 'Vault wraps what this path answers: give the token a policy that has no `control_group` for it';

/** Why an answer of Vault says nothing, and what was asked for is not done; undefined where it is no such answer. */
export function explainWrapping(answer: unknown): string | undefined {
  return isObject(valueAt(answer, 'wrap_info')) ? WRAPPED : undefined;
}

/** OpenBao warns where a policy cuts a list, and leaves `keys` out where it is empty: docs/services/secrets.md#listing. */
function explainWarning(answer: unknown, redactor: Redactor): string | undefined {
  const warning = textAt(answer, 'warnings', 0);
  return warning === null ? undefined : `the service warns: ${extractErrorMessage(redactor.text(warning))}`;
}

/** @throws AttemptError unless the body has the form of the `responseType`; a login page with status 200 has not */
function checkShape({ operation, args, redactor, mayRepeatNames }: ReadContext, response: ServiceResponse): void {
  const misses = (actual: string, hint?: string) => {
    const { responseType, itemsPath, says, maps = [] } = operation;
    const list = responseType === 'object' && itemsPath !== undefined ? ` with a list in \`${itemsPath}\`` : '';
    const name = (fields: readonly string[]) => fields.map((field) => `\`${field}\``).join(' or ');
    const fields = says ? ` that has ${name(says)}` : '';
    const shown = maps.map((names, at) => `${at === 0 ? ', with maps in' : ' and'} ${name(names)}`).join('');
    const message = `expected ${SHAPES[responseType].form}${list}${fields}${shown}, got ${actual}`;
    return new AttemptError({ failure: 'malformed', status: response.status, message, hint, retryable: 'few' });
  };
  const { text } = response;
  if (looksLikeHtml(text)) throw misses(extractErrorMessage(text));
  // The response of most writes is not documented, and may be empty.
  const mayBeEmpty = operation.mutates && operation.method !== 'GET' && text.trim() === '';
  if (mayBeEmpty || (isText(operation, args) && operation.responseType !== 'any')) return;
  const value = jsonOr(response, undefined);
  // What stands beside errors may be a part, and would pass for the whole.
  if (listAt(value, 'errors')?.length)
    throw misses(
      `errors: ${extractErrorMessage(redactor.text(text))}`,
      'try again; if the errors persist, the service is faulty',
    );
  if (operation.responseType === 'any') return;
  const isComplete = isList(operation) ? findItems(operation, value) !== undefined : saysSomething(operation, value);
  if (!isComplete || !SHAPES[operation.responseType].matches?.(value))
    throw misses(
      summarize(response),
      value === undefined ? explainBroken(text) : (explainWrapping(value) ?? explainWarning(value, redactor)),
    );
  const at = mayRepeatNames ? undefined : findContradiction(text, value);
  if (at !== undefined) throw misses(`an object that has a name twice, with two values (character ${at})`);
  const asked = findOther(operation, args, value);
  if (asked === undefined) return;
  const message = `the response for ${asked} describes another item`;
  throw new AttemptError({ failure: 'malformed', status: response.status, message, retryable: 'few' });
}

/** What begins as JSON and is none was cut where no length told so: without `Content-Length`, or compressed. */
function explainBroken(text: string): string | undefined {
  if (!/^\s*[{[]/u.test(text)) return undefined;
  return 'try again; if it persists, something in front of the service cuts its answers';
}

/** The item that was asked for, where the answer says that it describes another one. */
function findOther({ describes = {} }: Operation, args: Args, value: unknown): string | undefined {
  const asked = Object.keys(describes).map((param) => args[param] ?? '');
  const told = Object.values(describes).map((path) => valueAt(value, ...path) ?? '');
  const isOther = told.some((name, at) => name !== '' && asked[at] !== '' && name !== asked[at]);
  return isOther ? String(asked[0]) : undefined;
}

function saysSomething({ says, maps = [], responseType }: Operation, value: unknown): boolean {
  const content = responseType === 'data' ? valueAt(value, 'data') : value;
  const has = (field: string) => (valueAt(content, field) ?? null) !== null;
  const shown = maps.map((names) => valueAt(content, names.find(has) ?? names[0] ?? ''));
  const isUnknown = shown.some((map) => map !== null && !isObject(map)) || (maps.length > 0 && !shown.some(isObject));
  return (says?.some(has) ?? true) && !isUnknown;
}

function isText({ responseType }: Operation, args: Args): boolean {
  return SHAPES[responseType].matches === undefined || args.format === 'prometheus';
}

/** Without `matches`, the response is not JSON, or need not be. */
const SHAPES: Readonly<Record<Operation['responseType'], { form: string; matches?: (value: unknown) => boolean }>> = {
  document: {
    form: 'a JSON:API document with `data`',
    matches: (value) => isObject(valueAt(value, 'data')) || listAt(value, 'data') !== undefined,
  },
  data: { form: 'a JSON object with `data`', matches: (value) => isObject(valueAt(value, 'data')) },
  keys: { form: 'a JSON object with `data.keys`', matches: (value) => listAt(value, 'data', 'keys') !== undefined },
  array: { form: 'a JSON array', matches: Array.isArray },
  object: { form: 'a JSON object', matches: isObject },
  csv: { form: 'CSV' },
  text: { form: 'text' },
  any: { form: 'JSON' },
  health: { form: 'a health status' },
};

/** Describes a body without its content, which may contain secrets. */
function summarize({ text, headers }: ServiceResponse): string {
  const type = headers.get('content-type')?.split(';')[0]?.trim() ?? 'no content type';
  return `${describeForm(text.trimStart())} (${type}, ${text.length} characters)`;
}

function describeForm(text: string): string {
  if (text === '') return 'an empty body';
  if (text.startsWith('{')) return 'another or incomplete JSON object';
  return text.startsWith('[') ? 'another or incomplete JSON array' : 'something else';
}

/** Whether the operation returns a list, with or without pages. */
export function isList({ pagination, itemsPath, responseType }: Operation): boolean {
  return pagination !== undefined || itemsPath !== undefined || responseType === 'array';
}

/** The items of a list's response; empty when the operation is not a list. */
export function listItems(operation: Operation, response: ServiceResponse): readonly unknown[] {
  return findItems(operation, response.json()) ?? [];
}

/** The items at the operation's `itemsPath` of a parsed response; undefined when there is no list. */
export function findItems(operation: Operation, value: unknown): readonly unknown[] | undefined {
  const path = operation.itemsPath ?? (operation.responseType === 'document' ? 'data' : '');
  const found = valueAt(value, ...path.split('.').filter(Boolean));
  if (found === null) return [];
  return Array.isArray(found) ? found : undefined;
}
