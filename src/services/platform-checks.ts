import type { Target } from '../core/config.ts';
import { documentField, documentOperator, HASHICORP_VIEWS, VIEWS } from './explorer-fields.ts';
import { fieldProblems, filterProblems, filtersOf } from './explorer-filter.ts';
import type { ArgProblem, Args } from './operation.ts';

/** Rules 1 to 4 of platform.md "Filter syntax", the view, and the fields that are named. */
export function checkExplorer(args: Args, _body: unknown, target: Target): ArgProblem[] {
  const view = String(args.type ?? '');
  const views = target.flavor === 'hashicorp' ? HASHICORP_VIEWS : VIEWS;
  const problems: ArgProblem[] = [];
  if (args.type !== undefined && !views.includes(view)) {
    problems.push({ where: 'type', message: `must be one of ${views.join(', ')}` });
  }
  const filters = filtersOf(args, problems);
  const names = (value: unknown) =>
    value === undefined ? [] : [value].flat().flatMap((text) => String(text).split(','));
  const sort = names(args.sort);
  if (sort.length > 1) problems.push({ where: 'sort', message: 'takes one field name' });
  return [
    ...problems,
    ...filterProblems(filters, view),
    ...fieldProblems(sort, view, 'sort'),
    ...fieldProblems(names(args.fields), view, 'fields'),
  ];
}

interface ViewBody {
  readonly data?: {
    readonly query_type?: string;
    readonly query?: { readonly type?: string; readonly filter?: readonly { field: string; operator: string }[] };
  };
}

/** Operators of a saved view's filters; a JSON:API body has none in this place. */
export function checkViewBody(_args: Args, body: unknown): ArgProblem[] {
  const { query_type, query } = (body as ViewBody | undefined)?.data ?? {};
  const filters = (query?.filter ?? []).map(({ field, operator }) => ({
    field: documentField(field),
    operator: documentOperator(operator),
    value: '',
  }));
  return filterProblems(filters, query_type ?? query?.type ?? '', 'body.data.query.filter');
}
