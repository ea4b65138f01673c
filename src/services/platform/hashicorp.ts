import type { Args, QueryPairs, RequestDraft } from '../operation.ts';
import {
  canonicalField,
  canonicalOperator,
  isRawFilter,
  parseFilters,
  toHashicorpField,
  toHashicorpOperator,
} from './explorer.ts';

/** How the API documents and HCP Terraform write explorer queries and saved views: docs/services/platform.md#real-product. */

const QUERY_PARAMS: readonly string[] = ['type', 'filter', 'sort', 'fields'];

/** Encodes an explorer query with the names of the API documents. */
export const explorerQueryEncoder = {
  handles: (param: string) => QUERY_PARAMS.includes(param) || isRawFilter(param),
  encode: (args: Args) => buildQueryPairs(args, canonicalField, canonicalOperator),
};

/** Encodes an explorer query with `*_terraform_version` fields and with operators without spaces. */
export function toHashicorpQuery(draft: RequestDraft, args: Args): RequestDraft {
  const replaced = new Set(explorerQueryEncoder.encode(args).map(([name]) => name));
  const others = draft.query.filter(([name]) => !replaced.has(name));
  return { ...draft, query: [...buildQueryPairs(args, toHashicorpField, toHashicorpOperator), ...others] };
}

type Translate = (name: string) => string;

function buildQueryPairs(args: Args, toField: Translate, toOperator: Translate): QueryPairs {
  const toNames = (value: unknown) =>
    [value]
      .flat()
      .flatMap((text) => String(text).split(','))
      .map((name) => mapSorted(name, (field) => toField(canonicalField(field))));
  const filters = parseFilters(args).map(({ field, operator, value }, index): readonly [string, string] => [
    `filter[${index}][${toField(field)}][${toOperator(operator)}][0]`,
    value,
  ]);
  return [
    ['type', String(args.type)],
    ...filters,
    ...(args.sort === undefined ? [] : [['sort', toNames(args.sort).join(',')] as const]),
    ...(args.fields === undefined ? [] : [['fields', toNames(args.fields).join(',')] as const]),
  ];
}

/** Translates a field name and keeps its prefix `-`, which sorts in descending order. */
function mapSorted(name: string, translate: Translate): string {
  return name.startsWith('-') ? `-${translate(name.slice(1))}` : translate(name);
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

/** Translates the flat body of the API documents to JSON:API. A body that already is JSON:API stays as it is. */
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
  return {
    type,
    filter: filter.map(({ field, operator, value }) => ({
      [toHashicorpField(field)]: { [toHashicorpOperator(operator)]: value },
    })),
    ...(fields && { fields: { [type]: fields.map(toHashicorpField) } }),
    ...(sort && { sort: sort.map((name) => mapSorted(name, toHashicorpField)) }),
  };
}
