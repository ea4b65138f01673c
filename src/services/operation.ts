import type { z } from 'zod';
import type { Target, TargetKind } from '../config/config.ts';
import type { RetryPolicy } from '../http/retry.ts';

/** One parameter of a path or a query, spelled as the API document spells it. */
export interface OperationParam {
  readonly in: 'path' | 'query';
  /** `timestamp`: ISO 8601; `names`: comma-separated; `filters`: `FIELD:OPERATOR:VALUE`, repeatable. */
  readonly type: 'string' | 'integer' | 'boolean' | 'timestamp' | 'names' | 'filters';
  /** `documents`: the documents demand it, the real product does not. */
  readonly required: boolean | 'spec';
  readonly description: string;
  /** Its value is a secret: it is masked wherever it turns up. */
  readonly secret?: boolean;
}
export type OperationParams = Readonly<Record<string, OperationParam>>;

/**
 * What an answer promises: `document` JSON:API with `data`; `data` an object with `data`; `keys` an object with
 * `data.keys`; `array`; `object`; `csv`; `text`; `any` (the documents do not show it); `health` (503 is an answer).
 */
export type ResponseType = 'document' | 'data' | 'keys' | 'array' | 'object' | 'csv' | 'text' | 'any' | 'health';

/** What a flavor may change about a request before it is sent. */
export interface RequestDraft {
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Something wrong with what the caller gave; `where` is the parameter or the body's field. */
export interface ArgIssue {
  readonly path: string;
  readonly message: string;
  /** Said as a warning; the request goes out. */
  readonly isWarning?: boolean;
}

export type Args = Readonly<Record<string, unknown>>;

/** One endpoint of the documents, declared once; command, help, table and typed call come from it. */
export interface Operation {
  /** `KIND.RESOURCE.VERB`. */
  readonly name: string;
  readonly kind: TargetKind;
  readonly method: 'GET' | 'LIST' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below the base URL, with `{parameter}` where a value goes; `{organization_name}` comes from the target. */
  readonly path: string;
  readonly description: string;
  readonly params: OperationParams;
  readonly body?: { readonly schema: z.ZodType; readonly required: boolean; readonly example: string };
  readonly responseType: ResponseType;
  /** Changes something on the far side. */
  readonly mutates: boolean;
  readonly retryPolicy: RetryPolicy;
  /** False where something is destroyed that no operation brings back (surface.md, "Playbooks"). */
  readonly reversible: boolean;
  readonly permission: string;
  /** Document and rule that governs it. */
  readonly docsUrl: string;
  /** `page`: `page[number]` of JSON:API; `token`: `next_token`. */
  readonly pagination?: 'page' | 'token';
  /** Where the items of a list stand in the answer, when not at the usual place of `answers`. */
  readonly itemsPath?: string;
  /** Rules that neither types nor the schema express. */
  readonly validate?: (args: Args, body: unknown, target: Target) => readonly ArgIssue[];
  /** Query pairs of parameters that do not go out as `name=value`. */
  readonly encodeQuery?: (args: Args, target: Target) => readonly (readonly [string, string])[];
  /** What the real product wants where it differs from the documents (live-services.md). */
  readonly hashicorp?: (draft: RequestDraft, args: Args) => RequestDraft;
  /** Another path that the real product may serve instead; whichever is tried first, a 404 tries the other. */
  readonly fallbackPath?: string;
}

type ParamValue<P extends OperationParam> = P['type'] extends 'integer'
  ? number
  : P['type'] extends 'boolean'
    ? boolean
    : P['type'] extends 'filters' | 'names'
      ? readonly string[]
      : string;

type RequiredNames<P extends OperationParams> = { [N in keyof P]: P[N]['required'] extends false ? never : N }[keyof P];

/** The arguments of an operation, typed from its declaration; for an operation known only at run time, any by name. */
export type OperationArgs<O extends Operation> = string extends keyof O['params']
  ? Args
  : { readonly [N in RequiredNames<O['params']>]: ParamValue<O['params'][N]> } & {
      readonly [N in Exclude<keyof O['params'], RequiredNames<O['params']>>]?: ParamValue<O['params'][N]> | undefined;
    };

export function defineOperation<const O extends Operation>(declared: O): O {
  return declared;
}

/** `about` texts begin in lower case and end without a full stop, as in `--help`. */
export function pathParam(description: string) {
  return { in: 'path', type: 'string', required: true, description } as const;
}

export function queryParam<const T extends OperationParam['type'] = 'string'>(description: string, type?: T) {
  return { in: 'query', type: type ?? ('string' as T), required: false, description } as const;
}

export const pageParams = {
  'page[number]': queryParam('page to read, from 1', 'integer'),
  'page[size]': queryParam('rows a page, 20 by default, at most 100', 'integer'),
} as const;
