import type { Target } from '../config/config.ts';
import type { ArgIssue, Args } from './operation.ts';
import { canonicalField, canonicalOperator, HASHICORP_VIEWS, VIEWS } from './platform/explorer-fields.ts';
import { parseFilters, validateFields, validateFilters } from './platform/explorer-filters.ts';

/** Rules 1 to 4 of platform.md "Filter syntax", the view, and the fields that are named. */
export function validateExplorerArgs(args: Args, _body: unknown, target: Target): ArgIssue[] {
  const view = String(args.type ?? '');
  const views = target.flavor === 'hashicorp' ? HASHICORP_VIEWS : VIEWS;
  const problems: ArgIssue[] = [];
  if (args.type !== undefined && !views.includes(view)) {
    problems.push({ path: 'type', message: `must be one of ${views.join(', ')}` });
  }
  const filters = parseFilters(args, problems);
  const names = (value: unknown) =>
    value === undefined ? [] : [value].flat().flatMap((text) => String(text).split(','));
  const sort = names(args.sort);
  if (sort.length > 1) problems.push({ path: 'sort', message: 'takes one field name' });
  return [
    ...problems,
    ...validateFilters(filters, view),
    ...validateFields(sort, view, 'sort'),
    ...validateFields(names(args.fields), view, 'fields'),
  ];
}

interface ViewBody {
  readonly data?: {
    readonly query_type?: string;
    readonly query?: { readonly type?: string; readonly filter?: readonly { field: string; operator: string }[] };
  };
}

/** Operators of a saved view's filters; a JSON:API body has none in this place. */
export function validateViewBody(_args: Args, body: unknown): ArgIssue[] {
  const { query_type, query } = (body as ViewBody | undefined)?.data ?? {};
  const filters = (query?.filter ?? []).map(({ field, operator }) => ({
    field: canonicalField(field),
    operator: canonicalOperator(operator),
    value: '',
  }));
  return validateFilters(filters, query_type ?? query?.type ?? '', 'body.data.query.filter');
}
