import { parseTimestamp } from '../core/clock.ts';
import type { Target } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { nearestName } from '../core/yaml-file.ts';
import { isFilterName } from './explorer-filter.ts';
import type { ArgProblem, Args, Operation, Param } from './operation.ts';

/**
 * Checks arguments and body against what the documents say, before anything is sent. Warnings go to the log.
 * @throws TidemarkError USAGE with one line a problem, each beginning with the parameter's name.
 */
export function checkCall(operation: Operation, target: Target, args: Args, body: unknown, log: Log): void {
  if (operation.kind !== target.kind) {
    throw new TidemarkError(
      'USAGE',
      `${operation.name} needs a target of kind ${operation.kind}; ${target.name} is ${target.kind}`,
    );
  }
  const found = [...argProblems(operation, target, args), ...bodyProblems(operation, body)];
  const shaped = found.every(({ where }) => !where.startsWith('body'));
  if (operation.check) found.push(...operation.check(args, shaped ? body : undefined, target).filter(notSaid(found)));
  for (const { where, message } of found.filter(({ warning }) => warning))
    log.warn(`${operation.name}: ${where}: ${message}`);
  const problems = found.filter(({ warning }) => !warning);
  if (problems.length === 0) return;
  const lines = problems.map(({ where, message }) => `${operation.name}: ${where}: ${message}`);
  throw new TidemarkError('USAGE', lines.join('\n'), { hint: `see \`tidemark api ${operation.name} --help\`` });
}

function notSaid(found: readonly ArgProblem[]): (problem: ArgProblem) => boolean {
  return ({ where }) => !where.startsWith('body') || found.every((earlier) => !earlier.where.startsWith('body'));
}

function argProblems(operation: Operation, target: Target, args: Args): ArgProblem[] {
  const { params } = operation;
  const required = Object.entries(params).flatMap(([where, param]) =>
    isRequired(param, target) && (args[where] === undefined || args[where] === '')
      ? [{ where, message: `is required: ${param.about}` }]
      : [],
  );
  const given = Object.entries(args).flatMap(([where, value]) => {
    const param = Object.hasOwn(params, where) ? params[where] : undefined;
    if (value === undefined || value === '') return [];
    if (param) return valueProblems(where, param, value, target);
    if (operation.query && isFilterName(where)) return [];
    return [{ where, message: unknownParam(where, Object.keys(params)) }];
  });
  return [...required, ...given];
}

function isRequired({ required }: Param, { flavor }: Target): boolean {
  return required === 'documents' ? flavor !== 'hashicorp' : required;
}

function unknownParam(name: string, known: readonly string[]): string {
  if (name === 'organization_name') return 'comes from the target: leave it out';
  const nearest = nearestName(name, known);
  if (nearest) return `is not a parameter; did you mean \`${nearest}\`?`;
  return known.length === 0
    ? 'is not a parameter; there are none'
    : `is not a parameter; known are ${known.join(', ')}`;
}

function valueProblems(where: string, param: Param, value: unknown, target: Target): ArgProblem[] {
  const wrong = (message: string) => [{ where, message }];
  if (Array.isArray(value) && param.type !== 'filters' && param.type !== 'names')
    return wrong('is given more than once');
  const text = String(value);
  if (/\p{Surrogate}/u.test(text)) return wrong('is not valid Unicode');
  if (param.type === 'integer' && !/^\d+$/u.test(text)) return wrong(`must be a whole number, not \`${text}\``);
  if (param.type === 'boolean' && !/^(?:true|false)$/u.test(text)) return wrong('must be true or false');
  if (param.type === 'timestamp' && !parseTimestamp(text)) return wrong('must be an ISO 8601 date-time');
  return param.in === 'path' ? pathProblems(where, text, target) : [];
}

/**
 * Names that would address something else: the real Vault, Nomad and Consul decode the path before they route, so a `/` splits
 * it, and Vault's names may not end in a dot (live-services.md B1, C1); the documents know no such limit, so there it goes out
 * percent-encoded. `.` and `..` are resolved away by URL rules everywhere.
 */
function pathProblems(where: string, text: string, { kind, flavor }: Target): ArgProblem[] {
  if (text === '.' || text === '..') return [{ where, message: 'must not be `.` or `..`' }];
  if (flavor !== 'hashicorp' || kind === 'platform') return [];
  if (text.includes('/')) return [{ where, message: 'must not contain `/`: the service cannot address it' }];
  if (kind === 'secrets' && text.endsWith('.'))
    return [{ where, message: 'must not end in `.`: the service cannot address it' }];
  return [];
}

function bodyProblems({ body: declared }: Operation, body: unknown): ArgProblem[] {
  if (!declared) return body === undefined ? [] : [{ where: 'body', message: 'this operation takes none' }];
  if (body === undefined)
    return declared.required ? [{ where: 'body', message: `is required, such as ${declared.example}` }] : [];
  const result = declared.schema.safeParse(body);
  return (result.error?.issues ?? []).map(({ path, message }) => ({ where: fieldName(path), message }));
}

function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (text, part) => (typeof part === 'number' ? `${text}[${part}]` : `${text}.${String(part)}`),
    'body',
  );
}
