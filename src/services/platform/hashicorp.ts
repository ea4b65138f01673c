import type { Args, RequestDraft } from '../operation.ts';
import { canonicalField, canonicalOperator, toHashicorpField, toHashicorpOperator } from './explorer-fields.ts';
import { parseFilters } from './explorer-filters.ts';

/** Where HCP Terraform differs from platform.md (live-services.md A4, A5): the one place that knows its forms. */

type Pairs = readonly (readonly [string, string])[];

/** `type`, filters, `sort` and `fields` of an explorer query, with the document's names. */
export function encodeExplorerQuery(args: Args): Pairs {
  return buildQueryPairs(args, canonicalField, canonicalOperator);
}

/** The same with `*_terraform_version` and operators without spaces. */
export function toHashicorpQuery(draft: RequestDraft, args: Args): RequestDraft {
  const known = new Set(encodeExplorerQuery(args).map(([name]) => name));
  const others = draft.query.filter(([name]) => !known.has(name));
  return { ...draft, query: [...buildQueryPairs(args, toHashicorpField, toHashicorpOperator), ...others] };
}

function buildQueryPairs(
  args: Args,
  fieldName: (name: string) => string,
  operatorName: (name: string) => string,
): Pairs {
  const signed = (name: string) => (name.startsWith('-') ? `-${fieldName(name.slice(1))}` : fieldName(name));
  const list = (value: unknown) =>
    [value]
      .flat()
      .flatMap((text) => String(text).split(','))
      .map(canonicalSortField);
  const filters = parseFilters(args).map(({ field, operator, value }, index): readonly [string, string] => [
    `filter[${index}][${fieldName(field)}][${operatorName(operator)}][0]`,
    value,
  ]);
  return [
    ['type', String(args.type)],
    ...filters,
    ...(args.sort === undefined ? [] : [['sort', list(args.sort).map(signed).join(',')] as const]),
    ...(args.fields === undefined ? [] : [['fields', list(args.fields).map(fieldName).join(',')] as const]),
  ];
}

/** Names as the document has them, whichever form they were given in; a leading `-` sorts descending. */
function canonicalSortField(name: string): string {
  return name.startsWith('-') ? `-${canonicalField(name.slice(1))}` : canonicalField(name);
}

interface FlatView {
  readonly name?: string;
  readonly query_type?: string;
  readonly query?: {
    readonly type?: string;
    readonly filter?: readonly { readonly field: string; readonly operator: string; readonly value: unknown }[];
    readonly fields?: readonly string[];
    readonly sort?: readonly string[];
  };
}

/** The flat body of the document as JSON:API; a body that already is JSON:API goes out as it came. */
export function toHashicorpView(draft: RequestDraft, args: Args): RequestDraft {
  const data = (draft.body as { data: FlatView & { attributes?: unknown } }).data;
  if (data.attributes !== undefined) return draft;
  const type = data.query_type ?? data.query?.type;
  const id = args.view_id;
  return {
    ...draft,
    body: {
      data: {
        ...(id !== undefined && { id }),
        type: 'explorer-saved-queries',
        attributes: {
          name: data.name,
          ...(data.query_type !== undefined && { 'query-type': data.query_type }),
          query: toHashicorpSavedQuery(data.query ?? {}, type ?? 'workspaces'),
        },
      },
    },
  };
}

function toHashicorpSavedQuery(query: NonNullable<FlatView['query']>, type: string): unknown {
  const { filter = [], fields, sort } = query;
  const signed = (name: string) =>
    name.startsWith('-') ? `-${toHashicorpField(name.slice(1))}` : toHashicorpField(name);
  return {
    type,
    filter: filter.map(({ field, operator, value }) => ({
      [toHashicorpField(field)]: { [toHashicorpOperator(operator)]: value },
    })),
    ...(fields && { fields: { [type]: fields.map(toHashicorpField) } }),
    ...(sort && { sort: sort.map(signed) }),
  };
}
