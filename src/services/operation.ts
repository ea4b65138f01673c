import { z } from 'zod';
import type { Target, TargetKind } from '../config/config.ts';
import type { RetryPolicy } from '../http/retry.ts';
import { NO_RIGHTS, type Permission } from './permission.ts';

/** Names and values of a query string, not yet encoded. */
export type QueryPairs = readonly (readonly [string, string])[];

/** A parameter of a path or a query. Its name is the service's own. `mount` selects one of the target's mounts. */
export interface OperationParam {
  readonly in: 'path' | 'query' | 'mount';
  /** `timestamp`: ISO 8601; `names`: comma-separated; `filters`: `FIELD:OPERATOR:VALUE`, repeatable. */
  readonly type: 'string' | 'integer' | 'boolean' | 'timestamp' | 'names' | 'filters';
  /** `spec`: required by the API documents, optional in the real product. */
  readonly required: boolean | 'spec';
  /** Begins in lower case, without a full stop. */
  readonly description: string;
  /** The value is a secret and is masked in all output. */
  readonly secret?: boolean;
  /** The values that a service has. @default any */
  readonly values?: readonly string[];
  /** The same in the real product, where they differ. */
  readonly hashicorpValues?: readonly string[];
  /** The value is several of `values`, comma-separated. */
  readonly isList?: true;
}
type OperationParams = Readonly<Record<string, OperationParam>>;

/**
 * Form of a successful response. `document`: JSON:API with `data`; `data`: an object with `data`; `keys`: an object with
 * `data.keys`; `any`: not documented; `health`: status 200 or 503.
 */
type ResponseType = 'document' | 'data' | 'keys' | 'array' | 'object' | 'csv' | 'text' | 'any' | 'health';

export interface RequestDraft {
  readonly path: string;
  readonly query: QueryPairs;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface ArgIssue {
  /** A parameter, or a field such as `body.Volumes[0].ID`. */
  readonly path: string;
  readonly message: string;
  /** Log it as a warning and send the request. */
  readonly isWarning?: boolean;
}

/** Arguments of an operation that is known only at run time. */
export type Args = Readonly<Record<string, unknown>>;

/** One endpoint. The command, its help, its completion and the typed client are all derived from the declaration. */
export interface Operation {
  /** `KIND.RESOURCE.VERB`. */
  readonly name: string;
  readonly kind: TargetKind;
  readonly method: 'GET' | 'LIST' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the base URL, with `{parameter}` placeholders; `{organization_name}` comes from the target. */
  readonly path: string;
  readonly description: string;
  readonly params: OperationParams;
  readonly body?: { readonly schema: z.ZodType; readonly required: boolean; readonly example: string };
  readonly responseType: ResponseType;
  readonly mutates: boolean;
  readonly retryPolicy: RetryPolicy;
  /** False when it destroys something that no operation can restore. */
  readonly reversible: boolean;
  /** What the token needs. `tidemark permissions` makes policies of its rights; in words, `none` needs nothing. */
  readonly permission: Permission | string;
  /** The same in the real product, where it differs. */
  readonly hashicorpPermission?: Permission;
  /** A section of a page in docs/services, such as `docs/services/mesh.md#ca-roots`. */
  readonly docsUrl: string;
  /** `page`: by `page[number]`, as in JSON:API; `token`: by `next_token`. */
  readonly pagination?: 'page' | 'token';
  /** Path of the items in the response of a list. @default the usual one of `responseType` */
  readonly itemsPath?: string;
  /** Every answer has one of these fields, in `data` where that is its form: one without says nothing of what was asked for. */
  readonly says?: readonly string[];
  /** Where an answer may say what it describes, by the parameter that asks for it: something in between may mix up answers. */
  readonly describes?: Readonly<Record<string, readonly string[]>>;
  /**
   * The maps of an answer whose entries are rows, each by the names that services give it: rows of a map that is not shown would count as
   * gone. Null is an empty map, but not in place of all of them.
   */
  readonly maps?: readonly (readonly string[])[];
  /** Checks that neither the parameter types nor the body schema express. */
  readonly validate?: (args: Args, body: unknown, target: Target) => readonly ArgIssue[];
  /** Encodes parameters that are not sent as `name=value`. */
  readonly queryEncoder?: {
    readonly handles: (param: string) => boolean;
    readonly encode: (args: Args, flavor: Target['flavor']) => QueryPairs;
  };
  /** Adapts the request to the real product (`flavor: hashicorp`). */
  readonly hashicorp?: (draft: RequestDraft, args: Args) => RequestDraft;
  /** Another path that the service may use for the same endpoint, requested when the first returns 404; before it of the real product. */
  readonly fallbackPath?: string;
  /**
   * For an update that creates a missing subject: the read, with the same path parameters, that shows whether it exists. A call is
   * refused if it does not, unless the caller asks for `create`.
   */
  readonly subjectRead?: Operation;
}

type ParamValue<P extends OperationParam> = P['type'] extends 'integer'
  ? number
  : P['type'] extends 'boolean'
    ? boolean
    : P['type'] extends 'filters' | 'names'
      ? readonly string[]
      : string;

type RequiredNames<P extends OperationParams> = { [N in keyof P]: P[N]['required'] extends true ? N : never }[keyof P];

/** The arguments of an operation, derived from its declaration; `Args` when the operation is known only at run time. */
export type OperationArgs<O extends Operation> = string extends keyof O['params']
  ? Args
  : { readonly [N in RequiredNames<O['params']>]: ParamValue<O['params'][N]> } & {
      readonly [N in Exclude<keyof O['params'], RequiredNames<O['params']>>]?: ParamValue<O['params'][N]> | undefined;
    };

/** Checks a declaration and keeps its literal types. */
export function defineOperation<const O extends Operation>(declaration: O): O {
  return declaration;
}

/** What follows from the method of an operation. Nothing shows how most changes answer. */
const READS = { mutates: false, retryPolicy: 'safe', reversible: true as boolean, responseType: 'object' } as const;
const WRITES = { ...READS, mutates: true, retryPolicy: 'if-unprocessed', responseType: 'any' } as const;
type Method = Operation['method'];
type MethodDefaults<M> = M extends Exclude<Method, 'GET' | 'LIST'> ? typeof WRITES : typeof READS;

/** A question that is too long for a path. */
export const ASK = { ...READS, method: 'POST' } as const;

/** What an operation says beside its place in the table, from which kind, name and documentation follow. */
type OperationRow = Omit<
  Operation,
  'kind' | 'name' | 'docsUrl' | 'method' | 'permission' | 'params' | keyof typeof READS
> &
  Partial<Pick<Operation, 'params' | keyof typeof READS>> & {
    /** @default GET, which changes nothing; the others do, and DELETE cannot be undone */
    readonly method?: Method;
    /** A function makes it of the path. @default no rights */
    readonly permission?: Permission | ((path: string) => Permission);
    /** Of the page of the kind in docs/services. @default the name of the resource */
    readonly section?: string;
  };

type OperationTable = Readonly<Record<string, Readonly<Record<string, OperationRow>>>>;

type Declared<Defaults, Row> = Omit<Defaults, keyof Row> & Omit<Row, 'permission' | 'section'>;

/** The operations that a table declares, with their literal types. */
type DeclaredOperations<K extends TargetKind, T> = {
  readonly [R in keyof T & string]: {
    readonly [V in keyof T[R] & string]: Declared<
      MethodDefaults<T[R][V] extends { readonly method: infer M } ? M : 'GET'> & {
        readonly method: 'GET';
        readonly params: Readonly<Record<never, never>>;
      },
      T[R][V]
    > &
      Pick<Operation, 'docsUrl'> & {
        readonly kind: K;
        readonly name: `${K}.${R}.${V}`;
        readonly permission: Permission;
      };
  };
};

export function defineOperations<const K extends TargetKind, const T extends OperationTable>(kind: K, table: T) {
  const declare = (name: string, { section, permission = NO_RIGHTS, method = 'GET', ...row }: OperationRow) => ({
    ...(method === 'GET' || method === 'LIST' ? READS : { ...WRITES, reversible: method !== 'DELETE' }),
    params: {},
    ...row,
    method,
    kind,
    name: `${kind}.${name}`,
    permission: typeof permission === 'function' ? permission(row.path) : permission,
    docsUrl: `docs/services/${kind}.md#${section ?? name.split('.')[0]}`,
  });
  const declared = Object.entries(table).map(([resource, rows]) => [
    resource,
    Object.fromEntries(Object.entries(rows).map(([verb, row]) => [verb, declare(`${resource}.${verb}`, row)])),
  ]);
  return Object.fromEntries(declared) as DeclaredOperations<K, T>;
}

export function requiredBody<S extends z.ZodType>(schema: S, example: string) {
  return { schema, required: true, example } as const;
}

export function pathParam(description: string) {
  return { in: 'path', type: 'string', required: true, description } as const;
}

export function queryParam<const T extends OperationParam['type'] = 'string'>(description: string, type?: T) {
  return { in: 'query', type: type ?? ('string' as T), required: false, description } as const;
}

/** Fields of bodies. */
export const filledText = z.string('is required').min(1, 'must not be empty');
export const optionalText = z.string('must be text').optional();
