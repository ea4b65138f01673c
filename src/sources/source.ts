import type { TargetKind } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import type { RequestMetrics } from '../http/request-metrics.ts';
import type { LandingWriter } from '../landing/writer.ts';
import type { RequestOptions, ServiceClient } from '../services/client.ts';
import type { ServiceResponse } from '../services/response.ts';

/** What is pulled under one name: it bears the name of its main table, and fails or succeeds as a whole. */
export interface SourceDefinition {
  readonly name: string;
  readonly kind: TargetKind;
  readonly extract: (run: ExtractContext) => Promise<void>;
  /** The cheapest calls that show whether the token may read this source, for `tidemark doctor`; the last one answers. */
  readonly checkAccess: (service: ServiceClient) => Promise<ServiceResponse>;
  /** Other ways to ask, tried in turn where the one before was answered with something unusable. */
  readonly fallbacks?: readonly ((run: ExtractContext) => Promise<void>)[];
}

/** What a source may use while it extracts. */
export interface ExtractContext {
  readonly client: ServiceClient;
  readonly landing: LandingWriter;
  readonly log: Log;
  /** Counts this source's requests and carries the signal to stop: goes along with every call. */
  readonly requestOptions: RequestOptions & { readonly meter: RequestMetrics };
  /** The run's moment, ISO 8601. */
  readonly asOf: string;
  /** Asks for something once a run and target, however many sources need it. */
  readonly once: <T>(name: string, ask: () => Promise<T>) => Promise<T>;
  /** Works on items a few at a time, so that sources take turns at the limit; the first failure ends it. */
  readonly forEachLimited: <T>(items: readonly T[], work: (item: T) => Promise<void>) => Promise<void>;
}

/** A row of an answer as far as sources look into it: JSON objects of unknown content. */
export type Item = Readonly<Record<string, unknown>>;

/** The field that names an item of a list. @throws TidemarkError DATA when it has none: its rows would be lost silently. */
export function requiredString(item: unknown, field: string, list: string, index: number): string {
  const name = optionalString(item, field);
  if (name === undefined) throw new TidemarkError('DATA', `${list}: row ${index + 1} has no ${field}`);
  return name;
}

/** The list under a field of an answer; a service may write an empty one as null. @throws TidemarkError DATA where none is. */
export function requiredArray(answer: unknown, field: string, what: string): readonly unknown[] {
  const list = (answer as Item | null | undefined)?.[field];
  if (list === null) return [];
  if (!Array.isArray(list)) throw new TidemarkError('DATA', `${what}: the answer has no ${field}`);
  return list;
}

/** An answer about one thing must be about it: of another form, it would read as one that has nothing. @throws TidemarkError DATA */
export function assertSubject(answer: unknown, field: string, name: string, what: string): void {
  const named = optionalString(answer, field);
  if (named === name) return;
  const found = named === undefined ? `has no ${field}` : 'is about another';
  throw new TidemarkError('DATA', `${what}: the answer about ${name} ${found}`);
}

/** A text field of an item, or undefined: services leave fields out, or send null. */
export function optionalString(item: unknown, field: string): string | undefined {
  const value = (item as Item | null | undefined)?.[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
