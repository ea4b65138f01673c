import { closestMatch } from '../../config/yaml.ts';
import type { ArgIssue, Args } from '../operation.ts';
import {
  canonicalField,
  canonicalOperator,
  EXPLORER_FIELDS,
  type ExplorerView,
  type FieldType,
  OPERATORS,
} from './explorer-fields.ts';

/** One condition of an explorer query; several are joined by AND. Field and operator bear the document's names. */
export interface ExplorerFilter {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}

const RAW_NAME = /^filter\[/u;
const RAW_FORM = /^filter\[(\d+)\]\[([^\][]+)\]\[([^\][]+)\]\[(\d+)\]$/u;

/**
 * Filters among the arguments: `filter` holds `FIELD:OPERATOR:VALUE` strings (the value may contain colons), or they are
 * written out as in the document, `filter[0][FIELD][OPERATOR][0]=VALUE`. What is wrong goes to `problems`.
 */
export function parseFilters(args: Args, problems: ArgIssue[] = []): ExplorerFilter[] {
  const written = Object.entries(args).filter(([name]) => RAW_NAME.test(name));
  const given = args.filter === undefined ? [] : [args.filter].flat().map(String);
  if (written.length > 0 && given.length > 0) {
    problems.push({ path: 'filter', message: 'is given in two forms: use one' });
  }
  return [...given.flatMap((text) => parseShortFilter(text, problems)), ...parseRawFilters(written, problems)];
}

export function isRawFilter(name: string): boolean {
  return RAW_NAME.test(name);
}

function parseShortFilter(text: string, problems: ArgIssue[]): ExplorerFilter[] {
  const match = /^([^:]+):([^:]+)(?::([\s\S]*))?$/u.exec(text);
  const [, field = '', operator = '', value] = match ?? [];
  const needsValue = !/^is_(?:not_)?empty$/u.test(operator);
  if (!match || (needsValue && value === undefined)) {
    problems.push({ path: 'filter', message: `\`${text}\` is not FIELD:OPERATOR:VALUE` });
    return [];
  }
  return [{ field: canonicalField(field), operator: canonicalOperator(operator), value: value ?? 'true' }];
}

function parseRawFilters(written: readonly (readonly [string, unknown])[], problems: ArgIssue[]): ExplorerFilter[] {
  const parsed = written.flatMap(([path, value]) => {
    const match = RAW_FORM.exec(path);
    if (!match) problems.push({ path, message: 'is not filter[INDEX][FIELD][OPERATOR][0]' });
    return match ? [{ path, match, value: String(value) }] : [];
  });
  const indexes = parsed.map(({ match }) => Number(match[1])).sort((a, b) => a - b);
  if (indexes.some((index, expected) => index !== expected)) {
    problems.push({ path: 'filter', message: `indexes must be 0, 1, 2 …, each once; they are ${indexes.join(', ')}` });
  }
  for (const { path, match } of parsed) {
    if (match[4] !== '0') problems.push({ path, message: 'the last bracket must be 0: it is reserved' });
  }
  return parsed
    .sort((a, b) => Number(a.match[1]) - Number(b.match[1]))
    .map(({ match, value }) => ({
      field: canonicalField(match[2] ?? ''),
      operator: canonicalOperator(match[3] ?? ''),
      value,
    }));
}

/** An operator must exist and suit the field's type; a field the document does not list only warns (services add fields). */
export function validateFilters(filters: readonly ExplorerFilter[], view: string, path = 'filter'): ArgIssue[] {
  return filters.flatMap(({ field, operator }) => {
    const types = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (!types) {
      const nearest = closestMatch(operator, Object.keys(OPERATORS));
      const advice = nearest ? `did you mean \`${nearest}\`?` : `known are ${Object.keys(OPERATORS).join(', ')}`;
      return [{ path, message: `\`${operator}\` is not an operator; ${advice}` }];
    }
    const type = findFieldType(field, view);
    if (type === undefined) return warnUnknownField(field, view, path);
    if (types.includes(type)) return [];
    const usable = Object.keys(OPERATORS).filter((name) => OPERATORS[name]?.includes(type));
    return [{ path, message: `\`${operator}\` does not go with ${field}, a ${type}; use ${usable.join(', ')}` }];
  });
}

/** Fields that are named to sort by or to select. */
export function validateFields(names: readonly string[], view: string, path: string): ArgIssue[] {
  return names.flatMap((name) => {
    const field = canonicalField(name.replace(/^-/u, ''));
    return findFieldType(field, view) === undefined ? warnUnknownField(field, view, path) : [];
  });
}

function warnUnknownField(field: string, view: string, path: string): ArgIssue[] {
  const known = findFields(view);
  if (!known) return [];
  const nearest = closestMatch(field, Object.keys(known));
  const advice = nearest ? `; did you mean \`${nearest}\`?` : '';
  return [{ path, message: `the documents list no field \`${field}\` for ${view}${advice}`, isWarning: true }];
}

function findFieldType(field: string, view: string): FieldType | undefined {
  const fields = findFields(view);
  return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
}

function findFields(view: string): Readonly<Record<string, FieldType>> | undefined {
  return Object.hasOwn(EXPLORER_FIELDS, view) ? EXPLORER_FIELDS[view as ExplorerView] : undefined;
}
