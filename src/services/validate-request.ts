import type { Target } from '../config/config.ts';
import { closestMatch } from '../config/yaml.ts';
import { parseTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { ArgIssue, Args, Operation, OperationParam } from './operation.ts';
import { isRawFilter } from './platform/explorer-filters.ts';

/**
 * Checks arguments and body against what the documents say, before anything is sent. Warnings go to the log.
 * @throws TidemarkError USAGE with one line a problem, each beginning with the parameter's name.
 */
export function validateRequest(operation: Operation, target: Target, args: Args, body: unknown, log: Log): void {
  if (operation.kind !== target.kind) {
    throw new TidemarkError(
      'USAGE',
      `${operation.name} needs a target of kind ${operation.kind}; ${target.name} is ${target.kind}`,
    );
  }
  const found = [...validateArgs(operation, target, args), ...validateBody(operation, body)];
  const shaped = found.every(({ path }) => !path.startsWith('body'));
  if (operation.validate)
    found.push(...operation.validate(args, shaped ? body : undefined, target).filter(notSaid(found)));
  for (const { path, message } of found.filter(({ isWarning }) => isWarning))
    log.warn(`${operation.name}: ${path}: ${message}`);
  const problems = found.filter(({ isWarning }) => !isWarning);
  if (problems.length === 0) return;
  const lines = problems.map(({ path, message }) => `${operation.name}: ${path}: ${message}`);
  throw new TidemarkError('USAGE', lines.join('\n'), { hint: `see \`tidemark api ${operation.name} --help\`` });
}

function notSaid(found: readonly ArgIssue[]): (problem: ArgIssue) => boolean {
  return ({ path }) => !path.startsWith('body') || found.every((earlier) => !earlier.path.startsWith('body'));
}

function validateArgs(operation: Operation, target: Target, args: Args): ArgIssue[] {
  const { params } = operation;
  const required = Object.entries(params).flatMap(([path, param]) =>
    isRequired(param, target) && (args[path] === undefined || args[path] === '')
      ? [{ path, message: `is required: ${param.description}` }]
      : [],
  );
  const given = Object.entries(args).flatMap(([path, value]) => {
    const param = Object.hasOwn(params, path) ? params[path] : undefined;
    if (value === undefined || value === '') return [];
    if (param) return validateValue(path, param, value, target);
    if (operation.encodeQuery && isRawFilter(path)) return [];
    return [{ path, message: explainUnknownParam(path, Object.keys(params)) }];
  });
  return [...required, ...given];
}

function isRequired({ required }: OperationParam, { flavor }: Target): boolean {
  return required === 'spec' ? flavor !== 'hashicorp' : required;
}

function explainUnknownParam(name: string, known: readonly string[]): string {
  if (name === 'organization_name') return 'comes from the target: leave it out';
  const nearest = closestMatch(name, known);
  if (nearest) return `is not a parameter; did you mean \`${nearest}\`?`;
  return known.length === 0
    ? 'is not a parameter; there are none'
    : `is not a parameter; known are ${known.join(', ')}`;
}

function validateValue(path: string, param: OperationParam, value: unknown, target: Target): ArgIssue[] {
  const wrong = (message: string) => [{ path, message }];
  if (Array.isArray(value) && param.type !== 'filters' && param.type !== 'names')
    return wrong('is given more than once');
  const text = String(value);
  if (/\p{Surrogate}/u.test(text)) return wrong('is not valid Unicode');
  if (param.type === 'integer' && !/^\d+$/u.test(text)) return wrong(`must be a whole number, not \`${text}\``);
  if (param.type === 'boolean' && !/^(?:true|false)$/u.test(text)) return wrong('must be true or false');
  if (param.type === 'timestamp' && !parseTimestamp(text)) return wrong('must be an ISO 8601 date-time');
  return param.in === 'path' ? validatePathValue(path, text, target) : [];
}

/**
 * Names that would address something else: the real Vault, Nomad and Consul decode the path before they route, so a `/` splits
 * it, and Vault's names may not end in a dot (live-services.md B1, C1); the documents know no such limit, so there it goes out
 * percent-encoded. `.` and `..` are resolved away by URL rules everywhere.
 */
function validatePathValue(path: string, text: string, { kind, flavor }: Target): ArgIssue[] {
  if (text === '.' || text === '..') return [{ path, message: 'must not be `.` or `..`' }];
  if (flavor !== 'hashicorp' || kind === 'platform') return [];
  if (text.includes('/')) return [{ path, message: 'must not contain `/`: the service cannot address it' }];
  if (kind === 'secrets' && text.endsWith('.'))
    return [{ path, message: 'must not end in `.`: the service cannot address it' }];
  return [];
}

function validateBody({ body: declared }: Operation, body: unknown): ArgIssue[] {
  if (!declared) return body === undefined ? [] : [{ path: 'body', message: 'this operation takes none' }];
  if (body === undefined)
    return declared.required ? [{ path: 'body', message: `is required, such as ${declared.example}` }] : [];
  const result = declared.schema.safeParse(body);
  return (result.error?.issues ?? []).map(({ path, message }) => ({ path: formatPath(path), message }));
}

function formatPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    'body',
  );
}
