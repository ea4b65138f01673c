import type { Target, TargetKind } from '../../config/config.ts';
import { TidemarkError } from '../../core/errors.ts';
import { textAt, valueAt } from '../../core/json-path.ts';
import type { Log } from '../../core/log.ts';
import type { RequestMetrics } from '../../http/response-body.ts';
import type { UnknownPart } from '../../landing/store.ts';
import type { LandingWriter } from '../../landing/writer.ts';
import type { RequestOptions, ServiceClient } from '../../services/client.ts';
import type { Operation } from '../../services/operation.ts';
import type { ServiceResponse } from '../../services/response.ts';
import type { Row } from '../../warehouse/values.ts';

/**
 * A source pulls the rows of one or more tables. It has the name of its main table and succeeds or fails as a whole. The tables
 * are declared in `queries/tables/TABLE.sql`; `queries/load/TABLE.sql` selects their rows from the landing.
 */
export interface SourceDefinition {
  readonly name: string;
  readonly kind: TargetKind | readonly TargetKind[];
  /** Set if only the real products have it. @default both flavors */
  readonly flavor?: 'hashicorp';
  /** Set if it reads tables that other sources fill: it is pulled when those of all targets have ended. @default false */
  readonly readsTables?: true;
  /** Set if a service without the explorer cannot answer it (`explorer: workspaces`). */
  readonly needsExplorer?: true;
  /** The operations that it calls, from which `tidemark permissions` derives the rights of the token. @default none */
  readonly operations?: readonly Operation[];
  /** Writes everything that the service returns to the landing. */
  readonly extract: (context: ExtractContext) => Promise<void>;
  /**
   * Makes the cheapest calls that need all permissions of the source, for `tidemark doctor`. `onUnknown` is called for a part that
   * would be unknown. @returns the last response, if there is one
   */
  readonly checkAccess: (client: ServiceClient, onUnknown: OnUnknown) => Promise<ServiceResponse | undefined>;
  /** What proves that an object is as the last pull read it, so that it is not requested again. @default nothing */
  readonly unchanged?: Unchanged;
  /** Other strategies, used in order when the service fails or the data is invalid. @default `extract` once more */
  readonly fallbacks?: readonly ((context: ExtractContext) => Promise<void>)[];
}

export type OnUnknown = (part: UnknownPart) => void;

/**
 * The proof that an object of a list is unchanged: its whole list item is as it was, and has these fields. Otherwise only an `ETag` or
 * `Last-Modified` of the service proves it: such an object is requested, and a service answers 304 without a body.
 */
export interface Unchanged {
  /** Fields of a list item that rise with every change of what reading the object returns, such as `ModifyIndex`; a lower one in its answer is of an earlier state. @default none */
  readonly list?: string | readonly string[];
  /** Whether the object may change although its list item does not. @default never */
  readonly unless?: (item: unknown) => boolean;
}

/** A list whose objects are read one by one. */
export interface ObjectList {
  /** Distinguishes the lists of a source. */
  readonly name: string;
  readonly objects: readonly ListedObject[];
  /** The index that the service sends with the list (`X-Nomad-Index`, `X-Consul-Index`), if it sends one. */
  readonly index?: string | undefined;
}

export interface ListedObject {
  /** Unique in the list. */
  readonly key: string;
  readonly item: unknown;
  /** Other items that the object is made of. Where one is undefined, nothing proves that the object is unchanged. @default none */
  readonly parts?: readonly unknown[];
}

/** Writes objects of a list to the landing. */
export interface ObjectReader {
  /** Writes an object as the last pull read it if that is proven to be its present state, else as `read` returns it. */
  readonly land: (key: string, request: ObjectRequest) => Promise<void>;
}

export interface ObjectRequest {
  /** Fields of the line, beside the response under `body`. */
  readonly fields: Readonly<Record<string, string | number | null>>;
  /** Fields that follow from the response. */
  readonly derive?: (response: ServiceResponse) => Readonly<Record<string, string | number | null>>;
  /** Reads the object. The options belong to its request. */
  readonly read: (options: RequestOptions) => Promise<ServiceResponse>;
  /** Throws if the response is not about the object, or cannot be read. */
  readonly check?: (response: ServiceResponse) => void;
}

/** What a source may use during an extraction. */
export interface ExtractContext {
  /** Counts the requests of this source and aborts them with the extraction. */
  readonly client: ServiceClient;
  readonly landing: LandingWriter;
  readonly log: Log;
  /** Aborted where the extraction ends early. */
  readonly signal: AbortSignal;
  readonly metrics: RequestMetrics;
  /** `as_of` of the run, ISO 8601. */
  readonly asOf: string;
  /** Makes a request once per run and target, for all sources that use the same name. */
  readonly once: <T>(name: string, request: () => Promise<T>) => Promise<T>;
  /** Compares a list with the last pull. It decides which objects need not be read again, as the source's `unchanged` declares. */
  readonly objects: (list: ObjectList) => Promise<ObjectReader>;
  /** The values that the current rows of the source's main table have in the column of its part, such as the plugins. */
  readonly knownParts: () => Promise<ReadonlySet<string | null>>;
  /** The rows of `queries/warehouse/NAME.sql`: what earlier pulls, of this run or before, have loaded. */
  readonly query: (name: string) => Promise<readonly Row[]>;
  /** Processes a few items at a time, so that sources take turns at the rate limit. The first failure ends it. */
  readonly forEachLimited: <T>(items: readonly T[], work: (item: T) => Promise<void>) => Promise<void>;
}

/** Whether targets of this kind and flavor can have a source. */
export function fitsTarget({ kind, flavor }: SourceDefinition, target: Pick<Target, 'kind' | 'flavor'>): boolean {
  return [kind].flat().includes(target.kind) && (flavor === undefined || flavor === target.flavor);
}

/** Whether the configuration wants a source of a target: the target's `sources` or `without` may leave it out. */
export function isWanted(target: Target, source: SourceDefinition): boolean {
  const { sources, without } = target;
  const isListed = sources === undefined || sources.includes(source.name);
  return fitsTarget(source, target) && isListed && !without.includes(source.name);
}

/** Whether a target has a source: the configuration wants it, and the service can answer it. */
export function hasSource(target: Target, source: SourceDefinition): boolean {
  return isWanted(target, source) && !(source.needsExplorer && target.explorer === 'workspaces');
}

/** Checks the type of a source definition. */
export function defineSource(definition: SourceDefinition): SourceDefinition {
  return definition;
}

/** @throws TidemarkError DATA when the field has no text: the row could not be identified */
export function requiredString(item: unknown, field: string, list: string, index: number): string {
  const value = textAt(item, field);
  if (value === null) throw new TidemarkError('DATA', `${list}: row ${index + 1} has no ${field}`);
  return value;
}

/**
 * The text in a field that refers to something; null where there is none.
 * @throws TidemarkError DATA for a value of another type: compared as a text, it would refer to nothing
 */
export function optionalString(item: unknown, field: string, list: string, index: number): string | null {
  const value = valueAt(item, field) ?? null;
  if (value !== null && typeof value !== 'string')
    throw new TidemarkError('DATA', `${list}: the ${field} of row ${index + 1} is no text`);
  return value || null;
}

/** The list in a field. Services may send null instead of an empty list. @throws TidemarkError DATA when there is none */
export function requiredArray(response: unknown, field: string, source: string): readonly unknown[] {
  const list = valueAt(response, field);
  if (list === null) return [];
  if (!Array.isArray(list)) throw new TidemarkError('DATA', `${source}: the response has no ${field}`);
  return list;
}

/** Checks that a response describes the requested item. @throws TidemarkError DATA */
export function assertSubject(response: unknown, field: string, name: string, source: string): void {
  if (textAt(response, field) === name) return;
  throw new TidemarkError('DATA', `${source}: the response for ${name} describes another item`);
}
