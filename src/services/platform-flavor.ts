import { documentField, documentOperator, hashicorpField, hashicorpOperator } from './explorer-fields.ts';
import { filtersOf } from './explorer-filter.ts';
import type { Args, Draft } from './operation.ts';

/** Where HCP Terraform differs from platform.md (live-services.md A4, A5): the one place that knows its forms. */

type Pairs = readonly (readonly [string, string])[];

/** `type`, filters, `sort` and `fields` of an explorer query, with the document's names. */
export function explorerQuery(args: Args): Pairs {
  return queryPairs(args, documentField, documentOperator);
}

/** The same with `*_terraform_version` and operators without spaces. */
export function hashicorpExplorer(draft: Draft, args: Args): Draft {
  const known = new Set(explorerQuery(args).map(([name]) => name));
  const others = draft.query.filter(([name]) => !known.has(name));
  return { ...draft, query: [...queryPairs(args, hashicorpField, hashicorpOperator), ...others] };
}

function queryPairs(args: Args, fieldName: (name: string) => string, operatorName: (name: string) => string): Pairs {
  const signed = (name: string) => (name.startsWith('-') ? `-${fieldName(name.slice(1))}` : fieldName(name));
  const list = (value: unknown) =>
    [value]
      .flat()
      .flatMap((text) => String(text).split(','))
      .map(signedDocumentField);
  const filters = filtersOf(args).map(({ field, operator, value }, index): readonly [string, string] => [
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
function signedDocumentField(name: string): string {
  return name.startsWith('-') ? `-${documentField(name.slice(1))}` : documentField(name);
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
export function hashicorpView(draft: Draft, args: Args): Draft {
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
          query: savedQuery(data.query ?? {}, type ?? 'workspaces'),
        },
      },
    },
  };
}

function savedQuery(query: NonNullable<FlatView['query']>, type: string): unknown {
  const { filter = [], fields, sort } = query;
  const signed = (name: string) => (name.startsWith('-') ? `-${hashicorpField(name.slice(1))}` : hashicorpField(name));
  return {
    type,
    filter: filter.map(({ field, operator, value }) => ({
      [hashicorpField(field)]: { [hashicorpOperator(operator)]: value },
    })),
    ...(fields && { fields: { [type]: fields.map(hashicorpField) } }),
    ...(sort && { sort: sort.map(signed) }),
  };
}
