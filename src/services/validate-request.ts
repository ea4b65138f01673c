import { meshMounts, type Target } from '../config/config.ts';
import { explainIssue } from '../config/explain-issue.ts';
import { suggestName } from '../config/suggest.ts';
import { parseTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { isScalar, SCALAR, valueAt } from '../core/json-path.ts';
import type { Log } from '../core/log.ts';
import { catchFailure, ServiceError } from '../http/errors.ts';
import { type ArgIssue, type Args, type Operation, type OperationParam, queryParam } from './operation.ts';

/**
 * Checks the arguments and the body of a request before it is sent.
 * @param log gets warnings: of no use where the arguments come from the warehouse or a service
 * @throws TidemarkError USAGE with one line per issue
 */
export function validateRequest(operation: Operation, target: Target, args: Args, body: unknown, log?: Log): void {
  if (operation.kind !== target.kind) {
    throw new TidemarkError(
      'USAGE',
      `${operation.name} needs a target of kind ${operation.kind}; ${target.name} is ${target.kind}`,
    );
  }
  const issues = findIssues(operation, target, args, body);
  const format = ({ path, message }: ArgIssue) => `${operation.name}: ${path}: ${message}`;
  for (const issue of issues.filter(({ isWarning }) => isWarning)) log?.warn(format(issue));
  const errors = issues.filter(({ isWarning }) => !isWarning);
  if (errors.length === 0) return;
  throw new TidemarkError('USAGE', errors.map(format).join('\n'), {
    hint: `see \`tidemark api ${operation.name} --help\``,
  });
}

/** The operation's own checks see the body only if it matches its schema. */
function findIssues(operation: Operation, target: Target, args: Args, body: unknown): readonly ArgIssue[] {
  const argIssues = validateArgs(operation, target, args);
  const bodyIssues = validateBody(operation, body);
  const isBodyValid = bodyIssues.length === 0;
  const ownIssues = operation.validate?.(args, isBodyValid ? body : undefined, target) ?? [];
  const additional = ownIssues.filter(({ path }) => isBodyValid || !path.startsWith('body'));
  return [...argIssues, ...bodyIssues, ...additional];
}

function validateArgs(operation: Operation, target: Target, args: Args): ArgIssue[] {
  const { params } = operation;
  const missing = Object.entries(params).flatMap(([path, param]) =>
    isRequired(param, target) && (args[path] === undefined || args[path] === '')
      ? [{ path, message: `is required: ${param.description}` }]
      : [],
  );
  const invalid = Object.entries(args).flatMap(([path, value]) => {
    const param = Object.hasOwn(params, path) ? params[path] : undefined;
    if (value === undefined || value === '') return [];
    if (![value].flat().every(isScalar)) return [{ path, message: SCALAR }];
    if (param) return validateValue(path, param, value, target);
    if (operation.queryEncoder?.handles(path)) return [];
    return [{ path, message: explainUnknownParam(path, Object.keys(params)) }];
  });
  return [...missing, ...invalid];
}

function isRequired({ required }: OperationParam, { flavor }: Target): boolean {
  return required === 'spec' ? flavor !== 'hashicorp' : required;
}

function explainUnknownParam(name: string, known: readonly string[]): string {
  if (name === 'organization_name') return 'comes from the target: leave it out';
  return `is not a parameter; ${suggestName(name, known)}`;
}

function validateValue(path: string, param: OperationParam, value: unknown, target: Target): ArgIssue[] {
  const invalid = (message: string) => [{ path, message }];
  if (Array.isArray(value) && param.type !== 'filters' && param.type !== 'names')
    return invalid('is given more than once');
  const text = String(value);
  if (/\p{Surrogate}/u.test(text)) return invalid('is not valid Unicode');
  if (param.type === 'integer' && !/^\d+$/u.test(text)) return invalid(`must be a whole number, not \`${text}\``);
  if (param.type === 'boolean' && !/^(?:true|false)$/u.test(text)) return invalid('must be true or false');
  if (param.type === 'timestamp' && !parseTimestamp(text)) return invalid('must be an ISO 8601 date-time');
  if (param.in === 'mount' && !meshMounts(target).includes(text)) {
    return invalid(`must be a mount of the target: ${meshMounts(target).join(', ')}`);
  }
  const values = (target.flavor === 'hashicorp' && param.hashicorpValues) || param.values;
  if (values && ![...(param.isList ? text.split(',') : [text])].every((one) => one === '' || values.includes(one)))
    return invalid(`must be one of ${values.join(', ')}`);
  return param.in === 'path' ? validatePathValue(path, text, target) : [];
}

/**
 * Rejects values that would address another resource. URL rules resolve `.` and `..`. The real Vault, Nomad and Consul decode
 * the path before they route it, so `/` splits it, and Vault does not accept names that end in a dot
 * (docs/services/secrets.md#conventions). The API documents have no such limits: there a `/` is sent percent-encoded.
 */
export function validatePathValue(path: string, text: string, { kind, flavor }: Target): ArgIssue[] {
  if (text === '.' || text === '..') return [{ path, message: 'must not be `.` or `..`' }];
  if (flavor !== 'hashicorp' || kind === 'platform') return [];
  if (text.includes('/'))
    return [{ path, message: `must not contain \`/\`, as \`${text}\` does: the service cannot address it` }];
  if (kind === 'secrets' && text.endsWith('.'))
    return [{ path, message: `must not end in \`.\`, as \`${text}\` does: the service cannot address it` }];
  return [];
}

function validateBody({ body: declared }: Operation, body: unknown): ArgIssue[] {
  if (!declared) return body === undefined ? [] : [{ path: 'body', message: 'this operation takes none' }];
  if (body === undefined)
    return declared.required ? [{ path: 'body', message: `is required, such as ${declared.example}` }] : [];
  const lost = findLostNumbers(body);
  if (lost.length > 0) return lost;
  const result = declared.schema.safeParse(body, { error: explainIssue });
  return (result.error?.issues ?? []).map(({ path, message }) => ({ path: formatPath(path), message }));
}

/** Numbers that JSON cannot hold, such as 1e999: they would be sent as null. */
function findLostNumbers(value: unknown, path: readonly PropertyKey[] = []): ArgIssue[] {
  if (typeof value === 'number' && !Number.isFinite(value))
    return [{ path: formatPath(path), message: 'is no number that JSON can hold' }];
  if (typeof value !== 'object' || value === null) return [];
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  return [...names].flatMap((name) => findLostNumbers(valueAt(value, name), [...path, name]));
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    'body',
  );
}

/**
 * Reads the subject of an update that would create it, if it is missing.
 * @throws TidemarkError UNSAFE when it is missing; ServiceError when that cannot be found out. Nothing is changed then.
 */
export async function requireSubject(
  operation: Operation,
  args: Args,
  read: (subject: Operation, args: Args) => Promise<unknown>,
): Promise<void> {
  const { subjectRead } = operation;
  if (!subjectRead) return;
  const own = Object.fromEntries(Object.keys(subjectRead.params).map((name) => [name, args[name]]));
  const answer = await read(subjectRead, own).catch(catchFailure(() => true));
  if (!(answer instanceof ServiceError)) return;
  if (answer.failure !== 'not-found') {
    const { status: _, ...details } = answer.details; // that of the read says nothing of the call, which is not sent
    throw new ServiceError({ ...details, notProcessed: true });
  }
  const subject = Object.values(own).map(String).join('/');
  throw new TidemarkError('UNSAFE', `${operation.name}: ${subject} does not exist, and the update would create it`, {
    hint: 'check the name; `tidemark api --create` creates it',
    cause: answer,
  });
}

/**
 * The read without the checks that come from the API documents: arguments that they do not list are sent as query
 * parameters, and their rules for values do not apply. Path parameters, required ones and the body are still checked.
 */
export function uncheckOperation<T extends Operation>(operation: T, args: Args): T {
  const { validate: _, ...rest } = operation;
  const { params, queryEncoder } = operation;
  const unlisted = Object.keys(args).filter(
    (name) => name !== 'organization_name' && !Object.hasOwn(params, name) && !queryEncoder?.handles(name),
  );
  const added = Object.fromEntries(unlisted.map((name) => [name, queryParam('not documented')]));
  return { ...rest, params: { ...params, ...added } } as unknown as T;
}
