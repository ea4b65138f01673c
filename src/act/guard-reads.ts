import type { FailureKind } from '../http/errors.ts';

/** What an action reads of its subject: part of the authoring API of playbooks. */

/** A value as plans and the ledger hold it. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue };

/** The value of a parameter: the input of that name, or the constant `is`. An input that is null is left out. */
export type ParameterSource = string | { readonly is: string | number | boolean };
export type ParameterSources = Readonly<Record<string, ParameterSource>>;

/** A read of the service: an operation of `tidemark api` that changes nothing. */
export interface GuardRead {
  readonly operation: string;
  readonly params: ParameterSources;
  /** Follows every page; the result is then the array of items. */
  readonly allPages?: true;
  /** Takes it as a result that the service rejects what the request says (400, 422). Every other failure says nothing about the subject. */
  readonly allowFailure?: true;
  /** What proves that the subject is gone. @default nothing: "not found" leaves the action pending */
  readonly absence?: AbsenceEvidence;
}

/**
 * A 404 may also mean that the token lost a permission or that a replica lags. Absence counts only if the list that would contain
 * the subject answers, lacks the subject, and contains at least half of the other items that the warehouse and the plan know.
 */
export interface AbsenceEvidence {
  /** The list, which is read when the subject is not found. @default the read itself is the list */
  readonly list?: Pick<GuardRead, 'operation' | 'params' | 'allPages'>;
  /** The IDs in the list. */
  readonly listIds: (list: unknown) => readonly string[];
  /** The input that holds the ID of the subject. Nothing is verified where it is null. */
  readonly subject: string;
  /** The column of the warehouse that holds the other IDs; `within` restricts it to rows of one parent: column, input. */
  readonly known: { readonly table: string; readonly column: string; readonly within?: readonly [string, string] };
  /** Set where the list proves absence although no other item is known, because the action only adds one. */
  readonly provenWhenNoneKnown?: true;
}

/** The result of a read: the body, or that the subject was not found (with `allowFailure`, why the read was refused). */
export type ReadResult =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly failure: FailureKind; readonly message: string };
export type ReadResults<R extends string = string> = Readonly<Record<R, ReadResult>>;
