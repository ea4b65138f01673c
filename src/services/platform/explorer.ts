import type { Target } from '../../config/config.ts';
import { closestMatch } from '../../config/suggest.ts';
import { parseTimestamp } from '../../core/clock.ts';
import type { ArgIssue, Args } from '../operation.ts';

/** The explorer views with their fields and operators: docs/services/platform.md#explorer-views. */

type FieldType = 'boolean' | 'number' | 'string' | 'datetime';
export type ExplorerView = 'workspaces' | 'tf_versions' | 'providers' | 'modules';

export const VIEWS: readonly ExplorerView[] = ['workspaces', 'tf_versions', 'providers', 'modules'];
/** `resources` is a beta view of the real product. Its fields are not checked. */
export const HASHICORP_VIEWS: readonly string[] = [...VIEWS, 'resources'];

export const EXPLORER_FIELDS: Readonly<Record<ExplorerView, Readonly<Record<string, FieldType>>>> = {
  workspaces: {
    all_checks_succeeded: 'boolean',
    current_rum_count: 'number',
    checks_errored: 'number',
    checks_failed: 'number',
    checks_passed: 'number',
    checks_unknown: 'number',
    current_run_applied_at: 'datetime',
    current_run_external_id: 'string',
    current_run_status: 'string',
    drifted: 'boolean',
    external_id: 'string',
    module_count: 'number',
    modules: 'string',
    organization_name: 'string',
    project_external_id: 'string',
    project_name: 'string',
    provider_count: 'number',
    providers: 'string',
    resources_drifted: 'number',
    resources_undrifted: 'number',
    state_version_iac_version: 'string',
    vcs_repo_identifier: 'string',
    workspace_created_at: 'datetime',
    workspace_name: 'string',
    workspace_iac_version: 'string',
    workspace_updated_at: 'datetime',
  },
  tf_versions: { version: 'string', workspace_count: 'number', workspaces: 'string' },
  providers: { name: 'string', source: 'string', version: 'string', workspace_count: 'number', workspaces: 'string' },
  modules: {
    name: 'string',
    source: 'string',
    version: 'string',
    workspace_count: 'number',
    workspaces: 'string',
    registry_type: 'string',
  },
};

/** The field types that an operator applies to: docs/services/platform.md#explorer-filters. */
const OPERATORS: Readonly<Record<string, readonly FieldType[]>> = {
  is: ['boolean', 'number', 'string'],
  is_not: ['number', 'string'],
  contains: ['string'],
  'does not contain': ['string'],
  is_empty: ['boolean', 'number', 'string'],
  is_not_empty: ['boolean', 'number', 'string'],
  gt: ['number'],
  lt: ['number'],
  gteq: ['number'],
  lteq: ['number'],
  is_before: ['datetime'],
  is_after: ['datetime'],
};

/** Fields with another name in the real product: docs/services/platform.md#real-product. */
const HASHICORP_NAMES: Readonly<Record<string, string>> = {
  workspace_iac_version: 'workspace_terraform_version',
  state_version_iac_version: 'state_version_terraform_version',
};
const CANONICAL_NAMES = Object.fromEntries(
  Object.entries(HASHICORP_NAMES).map(([canonical, hashicorp]) => [hashicorp, canonical]),
);

export function toHashicorpField(name: string): string {
  return HASHICORP_NAMES[name] ?? name;
}

/** The field name of the API documents, from any spelling of a service: with hyphens, or `*_terraform_version`. */
export function canonicalField(name: string): string {
  const snake = name.replaceAll('-', '_');
  return CANONICAL_NAMES[snake] ?? snake;
}

/** The operator of the API documents; the real product spells one `does_not_contain`. */
export function canonicalOperator(name: string): string {
  return name === 'does_not_contain' ? 'does not contain' : name;
}

export function toHashicorpOperator(name: string): string {
  return name.replaceAll(' ', '_');
}

/** One condition of an explorer query; all must match. Field and operator have the names of the API documents. */
export interface ExplorerFilter {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

const RAW_NAME = /^filter\[/u;
const RAW_FORM = /^filter\[(\d+)\]\[([^\][]+)\]\[([^\][]+)\]\[(\d+)\]$/u;

/** Whether a parameter is a filter as it is sent: `filter[0][FIELD][OPERATOR][0]`. */
export function isRawFilter(name: string): boolean {
  return RAW_NAME.test(name);
}

/** Validates the view, the filters and the field names of an explorer query: docs/services/platform.md#explorer-filters. */
export function validateExplorerArgs(args: Args, _body: unknown, target: Target): ArgIssue[] {
  const view = String(args.type ?? '');
  const views = target.flavor === 'hashicorp' ? HASHICORP_VIEWS : VIEWS;
  const issues: ArgIssue[] = [];
  if (args.type !== undefined && !views.includes(view)) {
    issues.push({ path: 'type', message: `must be one of ${views.join(', ')}` });
  }
  const filters = parseFilters(args, issues);
  const sort = toNames(args.sort);
  if (sort.length > 1) issues.push({ path: 'sort', message: 'takes one field name' });
  return [
    ...issues,
    ...validateFilters(filters, view),
    ...validateFields(sort, view, 'sort'),
    ...validateFields(toNames(args.fields), view, 'fields'),
  ];
}

function toNames(value: unknown): readonly string[] {
  return value === undefined ? [] : [value].flat().flatMap((text) => String(text).split(','));
}

/**
 * Parses the filters of an explorer query, in one of two forms: `filter` with `FIELD:OPERATOR:VALUE` texts (the value may
 * contain colons), or raw filters. Appends what is invalid to `issues`.
 */
export function parseFilters(args: Args, issues: ArgIssue[] = []): ExplorerFilter[] {
  const raw = Object.entries(args).filter(([name]) => isRawFilter(name));
  const short = args.filter === undefined ? [] : [args.filter].flat().map(String);
  if (raw.length > 0 && short.length > 0) {
    issues.push({ path: 'filter', message: 'is given in two forms: use one' });
  }
  return [...short.flatMap((text) => parseShortFilter(text, issues)), ...parseRawFilters(raw, issues)];
}

function parseShortFilter(text: string, issues: ArgIssue[]): ExplorerFilter[] {
  const match = /^([^:]+):([^:]+)(?::([\s\S]*))?$/u.exec(text);
  const [, field = '', operator = '', value] = match ?? [];
  const needsValue = !/^is_(?:not_)?empty$/u.test(operator);
  if (!match || (needsValue && value === undefined)) {
    issues.push({ path: 'filter', message: `\`${text}\` is not FIELD:OPERATOR:VALUE` });
    return [];
  }
  return [{ field: canonicalField(field), operator: canonicalOperator(operator), value: value ?? 'true' }];
}

function parseRawFilters(raw: readonly (readonly [string, unknown])[], issues: ArgIssue[]): ExplorerFilter[] {
  const parsed = raw.flatMap(([path, value]) => {
    const match = RAW_FORM.exec(path);
    if (!match) issues.push({ path, message: 'is not filter[INDEX][FIELD][OPERATOR][0]' });
    return match ? [{ path, match, value: String(value) }] : [];
  });
  const indexes = [...new Set(parsed.map(({ match }) => Number(match[1])))].sort((a, b) => a - b);
  if (indexes.some((index, expected) => index !== expected)) {
    issues.push({ path: 'filter', message: `indexes must be 0, 1, 2 …; they are ${indexes.join(', ')}` });
  }
  const seen = new Set<string>();
  for (const { path, match } of parsed) {
    const place = `${match[1]} ${canonicalField(match[2] ?? '')}`;
    if (seen.has(place)) issues.push({ path, message: 'the index has this field already: use the next index' });
    seen.add(place);
  }
  for (const { path, match } of parsed) {
    if (match[4] !== '0') issues.push({ path, message: 'the last bracket must be 0: it is reserved' });
  }
  return parsed
    .sort((a, b) => Number(a.match[1]) - Number(b.match[1]))
    .map(({ match, value }) => ({
      field: canonicalField(match[2] ?? ''),
      operator: canonicalOperator(match[3] ?? ''),
      value,
    }));
}

/** Checks that each operator exists and applies to the type of its field, and that the value has that type. */
export function validateFilters(filters: readonly ExplorerFilter[], view: string, path = 'filter'): ArgIssue[] {
  return filters.flatMap(({ field, operator, value }) => {
    const types = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (!types) {
      const closest = closestMatch(operator, Object.keys(OPERATORS));
      const advice = closest ? `did you mean \`${closest}\`?` : `known are ${Object.keys(OPERATORS).join(', ')}`;
      return [{ path, message: `\`${operator}\` is not an operator; ${advice}` }];
    }
    const type = findFieldType(field, view);
    if (type === undefined) return warnUnknownField(field, view, path);
    if (types.includes(type)) return validateFilterValue(field, type, operator, value, path);
    const usable = Object.keys(OPERATORS).filter((name) => OPERATORS[name]?.includes(type));
    return [{ path, message: `\`${operator}\` does not apply to ${field}, a ${type}; use ${usable.join(', ')}` }];
  });
}

/** A time without an offset is UTC: docs/services/platform.md#explorer-filters. */
const IS_VALUE: Readonly<Record<FieldType, (text: string) => boolean>> = {
  string: () => true,
  boolean: (text) => /^(?:true|false)$/u.test(text),
  number: (text) => /^-?\d+(?:\.\d+)?$/u.test(text),
  datetime: (text) => parseTimestamp(text) !== undefined,
};
const VALUE_FORMS: Readonly<Record<FieldType, string>> = {
  string: 'text',
  boolean: 'true or false',
  number: 'a number',
  datetime: 'an ISO 8601 date-time',
};

function validateFilterValue(
  field: string,
  type: FieldType,
  operator: string,
  value: string,
  path: string,
): ArgIssue[] {
  if (/^is_(?:not_)?empty$/u.test(operator) || IS_VALUE[type](value)) return [];
  return [{ path, message: `\`${value}\` is not a value of ${field}: it must be ${VALUE_FORMS[type]}` }];
}

/** Checks the names of fields to sort by or to select. */
export function validateFields(names: readonly string[], view: string, path: string): ArgIssue[] {
  return names.flatMap((name) => {
    const field = canonicalField(name.replace(/^-/u, ''));
    return findFieldType(field, view) === undefined ? warnUnknownField(field, view, path) : [];
  });
}

/** An unknown field is only a warning, since services add fields. */
function warnUnknownField(field: string, view: string, path: string): ArgIssue[] {
  const known = findFields(view);
  if (!known) return [];
  const closest = closestMatch(field, Object.keys(known));
  const advice = closest ? `; did you mean \`${closest}\`?` : '';
  return [{ path, message: `\`${field}\` is not a documented field of ${view}${advice}`, isWarning: true }];
}

function findFieldType(field: string, view: string): FieldType | undefined {
  const fields = findFields(view);
  return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
}

function findFields(view: string): Readonly<Record<string, FieldType>> | undefined {
  return Object.hasOwn(EXPLORER_FIELDS, view) ? EXPLORER_FIELDS[view as ExplorerView] : undefined;
}
