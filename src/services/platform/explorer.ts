import type { Target } from '../../config/config.ts';
import { suggestName } from '../../config/suggest.ts';
import { parseTimestamp } from '../../core/clock.ts';
import type { ArgIssue, Args, QueryPairs } from '../operation.ts';

/** The explorer views with their fields and operators: docs/services/platform.md#explorer-views. */

export type FieldType = 'boolean' | 'number' | 'string' | 'datetime';
const VIEWS = ['workspaces', 'tf_versions', 'providers', 'modules'] as const;
export type ExplorerView = (typeof VIEWS)[number];
/** `resources` is a beta view of the real product. Its fields are not checked. */
export const HASHICORP_VIEWS: readonly string[] = [...VIEWS, 'resources'];

/** The fields of what workspaces use. */
const USE = { version: 'string', workspace_count: 'number', workspaces: 'string' } as const;

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
  tf_versions: USE,
  providers: { name: 'string', source: 'string', ...USE },
  modules: { name: 'string', source: 'string', ...USE, registry_type: 'string' },
};

const PRODUCT_REGISTRY = { registry_type: 'string', curated: 'boolean' } as const;

/** What the real product has besides: docs/services/platform.md#explorer-views. */
const HASHICORP_FIELDS: Readonly<Record<ExplorerView, Readonly<Record<string, FieldType>>>> = {
  workspaces: { resource_count: 'number', source_module_id: 'string', tags: 'string' },
  tf_versions: { unique_identifier: 'string' },
  providers: PRODUCT_REGISTRY,
  modules: PRODUCT_REGISTRY,
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

/** Fields with another name in the real product: docs/services/platform.md#explorer-views. */
const HASHICORP_NAMES = new Map([
  ['workspace_iac_version', 'workspace_terraform_version'],
  ['state_version_iac_version', 'state_version_terraform_version'],
]);
const CANONICAL_NAMES = new Map([...HASHICORP_NAMES].map(([canonical, hashicorp]) => [hashicorp, canonical]));

export function toHashicorpField(name: string): string {
  return HASHICORP_NAMES.get(name) ?? name;
}

/** The field name of the API documents, from any spelling of a service: with hyphens, or `*_terraform_version`. */
export function canonicalField(name: string): string {
  const snake = name.replaceAll('-', '_');
  return CANONICAL_NAMES.get(snake) ?? snake;
}

/** The same of a column of a CSV, in which a name with hyphens is another one. */
export function canonicalColumn(name: string): string {
  return name.includes('-') ? name : canonicalField(name);
}

export function toHashicorpOperator(name: string): string {
  return name.replaceAll(' ', '_');
}

/** The operator of the API documents, of which one has blanks. */
export function canonicalOperator(name: string): string {
  return name === 'does_not_contain' ? 'does not contain' : name;
}

/** One condition of an explorer query; all must match. Field and operator have the names of the API documents. */
type ExplorerFilter = Readonly<Record<'field' | 'operator' | 'value', string>>;

export function toFilter(field: string, operator: string, value: string): ExplorerFilter {
  return { field: canonicalField(field), operator: canonicalOperator(operator), value };
}

/** A filter as it is sent: `filter[0][FIELD][OPERATOR][0]`. */
const RAW_FILTER = /^filter\[/u;
const RAW_FORM = /^filter\[(\d+)\]\[([^\][]+)\]\[([^\][]+)\]\[0\]$/u;
const QUERY_PARAMS: readonly string[] = ['type', 'filter', 'sort', 'fields'];

/** Encodes an explorer query as the API documents have it, or with the names of the real product. */
export const explorerQueryEncoder = {
  handles: (param: string) => QUERY_PARAMS.includes(param) || RAW_FILTER.test(param),
  encode: (args: Args, flavor: Target['flavor']): QueryPairs => {
    const isHashicorp = flavor === 'hashicorp';
    const toField = isHashicorp ? toHashicorpField : canonicalField;
    const filters = parseFilters(args).map(({ field, operator, value }, index): readonly [string, string] => [
      `filter[${index}][${toField(field)}][${isHashicorp ? toHashicorpOperator(operator) : operator}][0]`,
      value,
    ]);
    const names = (['sort', 'fields'] as const).flatMap((param): QueryPairs => {
      if (args[param] === undefined) return [];
      const translated = toNames(args[param]).map((name) => mapSorted(name, (field) => toField(canonicalField(field))));
      return [[param, translated.join(',')]];
    });
    return [['type', String(args.type)], ...filters, ...names];
  },
};

/** Translates a field name and keeps its prefix `-`, which sorts in descending order. */
export function mapSorted(name: string, translate: (field: string) => string): string {
  return name.startsWith('-') ? `-${translate(name.slice(1))}` : translate(name);
}

/** Validates the view, the filters and the field names of an explorer query: docs/services/platform.md#explorer-filters. */
export function validateExplorerArgs(args: Args, _body: unknown, target: Target): ArgIssue[] {
  const view = String(args.type ?? '');
  const issues = args.type === undefined ? [] : validateView(view, target, 'type');
  const filters = parseFilters(args, issues);
  const sort = toNames(args.sort);
  if (sort.length > 1) issues.push({ path: 'sort', message: 'takes one field name' });
  return [
    ...issues,
    ...filters.flatMap((filter) => validateFilter(filter, view, target, 'filter')),
    ...validateFields(sort, view, target, 'sort'),
    ...validateFields(toNames(args.fields), view, target, 'fields'),
  ];
}

export function validateView(view: string, { flavor }: Target, path: string): ArgIssue[] {
  const views: readonly string[] = flavor === 'hashicorp' ? HASHICORP_VIEWS : VIEWS;
  return views.includes(view) ? [] : [{ path, message: `must be one of ${views.join(', ')}` }];
}

function toNames(value: unknown): readonly string[] {
  return value === undefined ? [] : [value].flat().flatMap((text) => String(text).split(','));
}

/**
 * Parses the filters of an explorer query, in one of two forms: `filter` with `FIELD:OPERATOR:VALUE` texts (the value may
 * contain colons), or raw filters. Appends what is invalid to `issues`.
 */
function parseFilters(args: Args, issues: ArgIssue[] = []): ExplorerFilter[] {
  const raw = Object.entries(args).filter(([name]) => RAW_FILTER.test(name));
  const short = args.filter === undefined ? [] : [args.filter].flat().map(String);
  if (raw.length > 0 && short.length > 0) {
    issues.push({ path: 'filter', message: 'is given in two forms: use one' });
  }
  return [...short.flatMap((text) => parseShortFilter(text, issues)), ...parseRawFilters(raw, issues)];
}

const EMPTINESS = /^is_(?:not_)?empty$/u;

function parseShortFilter(text: string, issues: ArgIssue[]): ExplorerFilter[] {
  const [, field, operator = '', value] = /^([^:]+):([^:]+)(?::([\s\S]*))?$/u.exec(text) ?? [];
  if (field !== undefined && (value !== undefined || EMPTINESS.test(operator))) {
    return [toFilter(field, operator, value ?? 'true')];
  }
  issues.push({ path: 'filter', message: `\`${text}\` is not FIELD:OPERATOR:VALUE` });
  return [];
}

/** In the order of their indexes, with which the request is numbered again. */
function parseRawFilters(raw: readonly (readonly [string, unknown])[], issues: ArgIssue[]): ExplorerFilter[] {
  const parsed = raw.flatMap(([path, value]) => {
    const [, index, field = '', operator = ''] = RAW_FORM.exec(path) ?? [];
    if (index !== undefined) return [{ index: Number(index), filter: toFilter(field, operator, String(value)) }];
    issues.push({ path, message: 'is not filter[INDEX][FIELD][OPERATOR][0]' });
    return [];
  });
  return parsed.sort((a, b) => a.index - b.index).map(({ filter }) => filter);
}

/** Values of each type. A time without an offset is UTC: docs/services/platform.md#explorer-filters. */
const VALUES: Readonly<Record<FieldType, { readonly form: string; readonly accepts: (text: string) => boolean }>> = {
  string: { form: 'text', accepts: () => true },
  boolean: { form: 'true or false', accepts: (text) => /^(?:true|false)$/u.test(text) },
  number: { form: 'a number', accepts: (text) => /^-?\d+(?:\.\d+)?$/u.test(text) },
  datetime: { form: 'an ISO 8601 date-time', accepts: (text) => parseTimestamp(text) !== undefined },
};

/** Checks that the operator exists and applies to the type of the field, and that the value has that type. */
export function validateFilter(filter: ExplorerFilter, view: string, target: Target, path: string): ArgIssue[] {
  const { field, operator, value } = filter;
  const types = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
  if (!types) {
    const advice = suggestName(operator, Object.keys(OPERATORS));
    return [{ path, message: `\`${operator}\` is not an operator; ${advice}` }];
  }
  const type = findFields(view, target)?.get(field);
  if (type === undefined) return validateFields([field], view, target, path);
  if (!types.includes(type)) {
    const usable = Object.keys(OPERATORS).filter((name) => OPERATORS[name]?.includes(type));
    return [{ path, message: `\`${operator}\` does not apply to ${field}, a ${type}; use ${usable.join(', ')}` }];
  }
  if (EMPTINESS.test(operator) || VALUES[type].accepts(value)) return [];
  return [{ path, message: `\`${value}\` is not a value of ${field}: it must be ${VALUES[type].form}` }];
}

/** Checks the names of fields. An unknown one is only a warning, since services add fields. */
export function validateFields(names: readonly string[], view: string, target: Target, path: string): ArgIssue[] {
  const known = findFields(view, target);
  return names.flatMap((name) => {
    const field = canonicalField(name.replace(/^-/u, ''));
    if (!known || known.has(field)) return [];
    const advice = suggestName(field, known.keys());
    return [{ path, message: `\`${field}\` is not a documented field of ${view}; ${advice}`, isWarning: true }];
  });
}

function findFields(view: string, { flavor }: Target): ReadonlyMap<string, FieldType> | undefined {
  if (!Object.hasOwn(EXPLORER_FIELDS, view)) return undefined;
  const more = flavor === 'hashicorp' ? HASHICORP_FIELDS[view as ExplorerView] : {};
  return new Map(Object.entries({ ...EXPLORER_FIELDS[view as ExplorerView], ...more }));
}
