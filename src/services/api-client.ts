import type { z } from 'zod';
import { TidemarkError } from '../core/errors.ts';
import type { ApiResults } from './api-results.ts';
import type { ServiceClient } from './client.ts';
import { resources } from './index.ts';
import type { Args, Operation, OperationArgs } from './operation.ts';
import { isList, jsonOr } from './response.ts';

/**
 * The operations of a target as methods: `client.agentPools.list()`. Resources, parameters and results are typed from the
 * declarations of the operations; names that the service writes with `_`, `-` or brackets are in camel case. A list yields items
 * and requests pages as they are needed; any other method resolves to the result without its envelope. Methods throw
 * ServiceError, or TidemarkError USAGE before anything is sent.
 */
export type ApiClient = Resources<
  All['platform'] & All['secrets'] & All['scheduler'] & All['autoscaler'] & All['mesh'] & All['registry']
>;
type All = typeof resources;

type Verbs = Readonly<Record<string, Operation>>;

/** What follows from the form of a response. `any`: the documents do not show what most writes return. */
interface FormResults {
  readonly csv: string;
  readonly text: string;
  readonly keys: string;
  readonly health: { readonly alive: boolean };
  readonly any: unknown;
}

type ApiResult<O extends Operation> = O['responseType'] extends keyof FormResults
  ? FormResults[O['responseType']]
  : O['name'] extends keyof ApiResults
    ? ApiResults[O['name']]
    : ResourceResult<O['name']>;

type ResourceResult<N extends string> = N extends `${infer Kind}.${infer Resource}.${string}`
  ? `${Kind}.${Resource}` extends keyof ApiResults
    ? ApiResults[`${Kind}.${Resource}`]
    : unknown
  : unknown;

type Resources<K extends Readonly<Record<string, Verbs>>> = {
  readonly [R in keyof K & string as CamelCase<R>]: { readonly [V in keyof K[R]]: ApiMethod<K[R][V]> };
};

type ApiMethod<O extends Operation> = (
  ...args: Record<never, never> extends ApiArgs<O> ? [args?: ApiArgs<O>] : [args: ApiArgs<O>]
) => O extends { readonly pagination: string } | { readonly itemsPath: string } | { readonly responseType: 'array' }
  ? AsyncGenerator<ApiResult<O>, void, undefined>
  : Promise<ApiResult<O>>;

type ApiArgs<O extends Operation> = CamelCaseKeys<Omit<OperationArgs<O>, HiddenParam>> & ApiBody<O> & ApiCreate<O>;

/** An update that would create a missing subject is refused without it. */
type ApiCreate<O> = O extends { readonly subjectRead: Operation } ? { readonly create?: boolean } : unknown;

/** Set while pages are followed; or, for `format`, changes the form of the response. */
type HiddenParam = 'page[number]' | 'next_token' | 'format';

type ApiBody<O> = O extends {
  readonly body: { readonly schema: infer S extends z.ZodType; readonly required: infer R };
}
  ? R extends true
    ? { readonly body: z.input<S> }
    : { readonly body?: z.input<S> }
  : unknown;

type CamelCaseKeys<T> = { [N in keyof T as N extends string ? CamelCase<N> : never]: T[N] };

type CamelCase<
  S extends string,
  Done extends string = '',
  Upper extends boolean = false,
> = S extends `${infer C}${infer Rest}`
  ? C extends '_' | '-' | '[' | ']'
    ? CamelCase<Rest, Done, true>
    : CamelCase<Rest, `${Done}${Upper extends true ? Uppercase<C> : C}`>
  : Done;

/** The methods of a client's target. Resources of other kinds throw TidemarkError USAGE when they are read. */
export function createApiClient(client: ServiceClient): ApiClient {
  const { target } = client;
  const api = {};
  for (const [kind, kindResources] of Object.entries<Readonly<Record<string, Verbs>>>(resources)) {
    for (const [resource, verbs] of Object.entries(kindResources)) {
      const name = toCamelCase(resource);
      const get = () => {
        if (kind === target.kind) return createMethods(client, verbs);
        throw new TidemarkError('USAGE', `${target.name} is a ${target.kind} target: it has no ${name}`);
      };
      Object.defineProperty(api, name, { get, enumerable: kind === target.kind });
    }
  }
  return api as ApiClient;
}

type MethodArgs = Args & { readonly body?: unknown; readonly create?: boolean };

function createMethods(client: ServiceClient, verbs: Verbs) {
  const methods = Object.entries(verbs).map(([verb, operation]) => {
    const send = isList(operation) ? listItems : callOnce;
    return [verb, (args?: MethodArgs) => send(client, operation, args)] as const;
  });
  return Object.fromEntries(methods);
}

async function* listItems(client: ServiceClient, operation: Operation, args: MethodArgs = {}) {
  for await (const { items } of client.pages(operation, toOperationArgs(operation, args))) yield* items;
}

async function callOnce(client: ServiceClient, operation: Operation, args: MethodArgs = {}): Promise<unknown> {
  const create = operation.subjectRead !== undefined && args.create === true;
  const options = { body: args.body, write: operation.mutates, create };
  const response = await client.call(operation, toOperationArgs(operation, args), options);
  if (operation.responseType === 'health') return { alive: response.status === 200 };
  if (operation.responseType === 'csv' || operation.responseType === 'text') return response.text;
  if (response.text.trim() === '') return undefined;
  if (operation.responseType === 'any') return jsonOr(response, response.text);
  const value = response.json();
  const hasEnvelope = operation.responseType === 'document' || operation.responseType === 'data';
  return hasEnvelope ? (value as { readonly data: unknown }).data : value;
}

/** Gives the parameters the service's names. An unknown name is kept, for the client to report. */
function toOperationArgs({ params, subjectRead }: Operation, { body: _body, create, ...others }: MethodArgs): Args {
  const args = subjectRead || create === undefined ? others : { ...others, create };
  const names = new Map(Object.keys(params).map((name) => [toCamelCase(name), name]));
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [names.get(name) ?? name, value]));
}

function toCamelCase(name: string): string {
  return name.replaceAll(/[_\-[\]]+(.?)/gu, (_, letter: string) => letter.toUpperCase());
}
