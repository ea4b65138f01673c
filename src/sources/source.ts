import type { Target, TargetKind } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import type { LandingWriter } from '../landing/writer.ts';
import type { ServiceClient } from '../services/client.ts';
import type { Operation } from '../services/operation.ts';
import type { ServiceResponse } from '../services/response.ts';

/**
 * A source pulls the rows of one or more tables. It has the name of its main table and succeeds or fails as a whole. The tables
 * are declared in `queries/tables/TABLE.sql`; `queries/load/TABLE.sql` selects their rows from the landing.
 */
export interface SourceDefinition {
  readonly name: string;
  readonly kind: TargetKind | readonly TargetKind[];
  /** Set if only the real products have it. @default both flavors */
  readonly flavor?: 'hashicorp';
  /** The operations that it calls, from which `tidemark permissions` derives the rights of the token. @default none */
  readonly operations?: readonly Operation[];
  /** Writes everything that the service returns to the landing. */
  readonly extract: (context: ExtractContext) => Promise<void>;
  /** Makes the cheapest calls that need all permissions of the source, for `tidemark doctor`. @returns the last response, if there is one */
  readonly checkAccess: (client: ServiceClient) => Promise<ServiceResponse | undefined>;
  /** Other strategies, used in order when the service fails or the data is invalid. @default `extract` once more */
  readonly fallbacks?: readonly ((context: ExtractContext) => Promise<void>)[];
}

/** What a source may use during an extraction. */
export interface ExtractContext {
  /** Counts the requests of this source and aborts them with the extraction. */
  readonly client: ServiceClient;
  readonly landing: LandingWriter;
  readonly log: Log;
  readonly metrics: RequestMetrics;
  /** `as_of` of the run, ISO 8601. */
  readonly asOf: string;
  /** Makes a request once per run and target, for all sources that use the same name. */
  readonly once: <T>(name: string, request: () => Promise<T>) => Promise<T>;
  /** Processes a few items at a time, so that sources take turns at the rate limit. The first failure ends it. */
  readonly forEachLimited: <T>(items: readonly T[], work: (item: T) => Promise<void>) => Promise<void>;
}

/** Whether targets of this kind and flavor can have a source. */
export function fitsTarget({ kind, flavor }: SourceDefinition, target: Pick<Target, 'kind' | 'flavor'>): boolean {
  return [kind].flat().includes(target.kind) && (flavor === undefined || flavor === target.flavor);
}

/** Whether a target has a source: the target's `sources` or `without` may leave it out. */
export function hasSource(target: Target, source: SourceDefinition): boolean {
  const { sources, without } = target;
  const isListed = sources === undefined || sources.includes(source.name);
  return fitsTarget(source, target) && isListed && !without.includes(source.name);
}

/** Checks the type of a source definition. */
export function defineSource(definition: SourceDefinition): SourceDefinition {
  return definition;
}

/** @throws TidemarkError DATA when the field has no text: the row could not be identified */
export function requiredString(item: unknown, field: string, list: string, index: number): string {
  const value = optionalString(item, field);
  if (value === undefined) throw new TidemarkError('DATA', `${list}: row ${index + 1} has no ${field}`);
  return value;
}

/** The list in a field. Services may send null instead of an empty list. @throws TidemarkError DATA when there is none */
export function requiredArray(response: unknown, field: string, source: string): readonly unknown[] {
  const list = readField(response, field);
  if (list === null) return [];
  if (!Array.isArray(list)) throw new TidemarkError('DATA', `${source}: the response has no ${field}`);
  return list;
}

/** Checks that a response describes the requested item. @throws TidemarkError DATA */
export function assertSubject(response: unknown, field: string, name: string, source: string): void {
  const actual = optionalString(response, field);
  if (actual === name) return;
  const problem = actual === undefined ? `has no ${field}` : 'describes another item';
  throw new TidemarkError('DATA', `${source}: the response for ${name} ${problem}`);
}

/** The text of a field; undefined when it is missing, null or empty. */
export function optionalString(item: unknown, field: string): string | undefined {
  const value = readField(item, field);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function readField(value: unknown, field: string): unknown {
  return (value as Readonly<Record<string, unknown>> | null | undefined)?.[field];
}
