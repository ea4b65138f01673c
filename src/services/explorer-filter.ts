import { nearestName } from '../core/yaml-file.ts';
import {
  documentField,
  documentOperator,
  EXPLORER_FIELDS,
  type FieldType,
  OPERATORS,
  type View,
} from './explorer-fields.ts';
import type { ArgProblem, Args } from './operation.ts';

/** One condition of an explorer query; several are joined by AND. Field and operator bear the document's names. */
export interface Filter {
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
export function filtersOf(args: Args, problems: ArgProblem[] = []): Filter[] {
  const written = Object.entries(args).filter(([name]) => RAW_NAME.test(name));
  const given = args.filter === undefined ? [] : [args.filter].flat().map(String);
  if (written.length > 0 && given.length > 0) {
    problems.push({ where: 'filter', message: 'is given in two forms: use one' });
  }
  return [...given.flatMap((text) => shortFilter(text, problems)), ...writtenFilters(written, problems)];
}

export function isFilterName(name: string): boolean {
  return RAW_NAME.test(name);
}

function shortFilter(text: string, problems: ArgProblem[]): Filter[] {
  const match = /^([^:]+):([^:]+)(?::([\s\S]*))?$/u.exec(text);
  const [, field = '', operator = '', value] = match ?? [];
  const needsValue = !/^is_(?:not_)?empty$/u.test(operator);
  if (!match || (needsValue && value === undefined)) {
    problems.push({ where: 'filter', message: `\`${text}\` is not FIELD:OPERATOR:VALUE` });
    return [];
  }
  return [{ field: documentField(field), operator: documentOperator(operator), value: value ?? 'true' }];
}

function writtenFilters(written: readonly (readonly [string, unknown])[], problems: ArgProblem[]): Filter[] {
  const parsed = written.flatMap(([where, value]) => {
    const match = RAW_FORM.exec(where);
    if (!match) problems.push({ where, message: 'is not filter[INDEX][FIELD][OPERATOR][0]' });
    return match ? [{ where, match, value: String(value) }] : [];
  });
  const indexes = parsed.map(({ match }) => Number(match[1])).sort((a, b) => a - b);
  if (indexes.some((index, expected) => index !== expected)) {
    problems.push({ where: 'filter', message: `indexes must be 0, 1, 2 …, each once; they are ${indexes.join(', ')}` });
  }
  for (const { where, match } of parsed) {
    if (match[4] !== '0') problems.push({ where, message: 'the last bracket must be 0: it is reserved' });
  }
  return parsed
    .sort((a, b) => Number(a.match[1]) - Number(b.match[1]))
    .map(({ match, value }) => ({
      field: documentField(match[2] ?? ''),
      operator: documentOperator(match[3] ?? ''),
      value,
    }));
}

/** An operator must exist and suit the field's type; a field the document does not list only warns (services add fields). */
export function filterProblems(filters: readonly Filter[], view: string, where = 'filter'): ArgProblem[] {
  return filters.flatMap(({ field, operator }) => {
    const types = Object.hasOwn(OPERATORS, operator) ? OPERATORS[operator] : undefined;
    if (!types) {
      const nearest = nearestName(operator, Object.keys(OPERATORS));
      const advice = nearest ? `did you mean \`${nearest}\`?` : `known are ${Object.keys(OPERATORS).join(', ')}`;
      return [{ where, message: `\`${operator}\` is not an operator; ${advice}` }];
    }
    const type = typeOf(field, view);
    if (type === undefined) return unknownField(field, view, where);
    if (types.includes(type)) return [];
    const usable = Object.keys(OPERATORS).filter((name) => OPERATORS[name]?.includes(type));
    return [{ where, message: `\`${operator}\` does not go with ${field}, a ${type}; use ${usable.join(', ')}` }];
  });
}

/** Fields that are named to sort by or to select. */
export function fieldProblems(names: readonly string[], view: string, where: string): ArgProblem[] {
  return names.flatMap((name) => {
    const field = documentField(name.replace(/^-/u, ''));
    return typeOf(field, view) === undefined ? unknownField(field, view, where) : [];
  });
}

function unknownField(field: string, view: string, where: string): ArgProblem[] {
  const known = fieldsOf(view);
  if (!known) return [];
  const nearest = nearestName(field, Object.keys(known));
  const advice = nearest ? `; did you mean \`${nearest}\`?` : '';
  return [{ where, message: `the documents list no field \`${field}\` for ${view}${advice}`, warning: true }];
}

function typeOf(field: string, view: string): FieldType | undefined {
  const fields = fieldsOf(view);
  return fields && Object.hasOwn(fields, field) ? fields[field] : undefined;
}

function fieldsOf(view: string): Readonly<Record<string, FieldType>> | undefined {
  return Object.hasOwn(EXPLORER_FIELDS, view) ? EXPLORER_FIELDS[view as View] : undefined;
}
