import { shortenText } from '../core/log.ts';
import type { ActivePull, PullStatus, RunContext } from '../extract/run-context.ts';
import type { FailureParts } from '../http/errors.ts';
import { describePart, findManifest, listUnknown, type Manifest, type UnknownPart } from '../landing/store.ts';
import type { OpenWarehouse } from '../warehouse/session.ts';
import { fillParams, toJsonParam } from '../warehouse/sql-params.ts';
import type { Changes, Facts, Landed } from './stage.ts';

/** The result of a pull, as in the JSON output. */
export interface PullOutcome {
  readonly target: string;
  readonly source: string;
  readonly status: PullStatus;
  readonly rows: number | null;
  readonly expected_rows: number | null;
  readonly requests: number;
  readonly retries: number;
  readonly throttle_wait_ms: number;
  readonly bytes: number;
  /** Objects that are as the last pull read them, and were not read again. */
  readonly reused: number;
  readonly inserted: number;
  readonly changed: number;
  readonly deleted: number;
  readonly error: string | null;
  /** The parts of an error of the service. */
  readonly failure: FailureParts | null;
  /** What a reader of the rows should know although the pull is complete. */
  readonly note: string | null;
}

export interface PullResult {
  readonly status: PullStatus;
  /** What the load changes in the main table of the source. */
  readonly delta?: Changes & { readonly rowsAfter: number };
  /** When the rows were extracted, ISO 8601. */
  readonly extractedAt?: string;
  readonly error?: string;
  readonly failure?: FailureParts | undefined;
  readonly note?: string | null;
  readonly unknownParts?: readonly UnknownPart[] | undefined;
  readonly origin?: Origin;
}

/** Where loaded rows come from. */
export type Origin = { readonly [K in 'place' | 'installation']?: Manifest[K] | undefined };

/** Of a text, which may repeat a name: a service says how long that is. */
const MAX_TEXT_LENGTH = 2000;

export function toPullOutcome({ redactor }: RunContext, pull: ActivePull, result: PullResult): PullOutcome {
  const { status, delta, error, failure, note } = result;
  const { target, source, metrics, expectedRows } = pull;
  const { requests, retries, bytes, reused } = metrics;
  // Of a secret that is cut, the rest would not be found.
  const clean = (text: string) => shortenText(redactor.text(text), MAX_TEXT_LENGTH);
  const cleanIfAny = (text: string | null = null) => (text === null ? null : clean(text));
  return {
    target: target.name,
    source: source.name,
    status,
    rows: delta?.rowsAfter ?? null,
    expected_rows: expectedRows,
    requests,
    retries,
    throttle_wait_ms: Math.round(metrics.throttleWaitMs),
    bytes,
    reused,
    inserted: delta?.inserted ?? 0,
    changed: delta?.changed ?? 0,
    deleted: delta?.deleted ?? 0,
    error: cleanIfAny(error),
    failure: failure
      ? { reason: clean(failure.reason), permission: cleanIfAny(failure.permission), path: cleanIfAny(failure.path) }
      : null,
    note: cleanIfAny(note),
  };
}

export async function recordPull(run: RunContext, pull: ActivePull, result: PullResult): Promise<PullOutcome> {
  await run.warehouse.database.script(recordPullsStatement(run, [[pull, result]]));
  return toPullOutcome(run, pull, result);
}

export function recordPullsStatement(run: RunContext, ended: readonly (readonly [ActivePull, PullResult])[]): string {
  const { runId, asOf, clock, warehouse } = run;
  const rows = ended.map(([pull, result]) => ({
    ...toPullOutcome(run, pull, result),
    ...(!result.delta && { inserted: null, changed: null, deleted: null }),
    run_id: runId,
    started_at: pull.startedAt,
    finished_at: clock.now().toISOString(),
    as_of: asOf.toISOString(),
    extracted_at: result.extractedAt ?? null,
    throttled: pull.metrics.throttled,
    unknown_parts: result.unknownParts ?? null,
    origin: result.origin ?? null,
  }));
  return fillParams(warehouse.files.read('warehouse/record_pulls'), { pulls: toJsonParam(rows) });
}

/** When the current rows of a source of a target were extracted. @returns ISO 8601; undefined where none was loaded */
export async function readExtractedAt({ database, files }: OpenWarehouse, of: Pick<Manifest, 'target' | 'source'>) {
  const [row] = await database.rows(files.read('warehouse/extracted_at'), of);
  return typeof row?.extracted_at === 'string' ? row.extracted_at : undefined;
}

/** Where the current rows of a source of a target come from: of a service that did not say what it is, what it said last counts. */
export async function readOrigin({ config, warehouse }: RunContext, { target, source }: Manifest): Promise<Origin> {
  const { database, files } = warehouse;
  const [row] = await database.rows(files.read('warehouse/origin'), { target, source });
  const unrecordedAt = row?.unrecorded_at;
  const landing = unrecordedAt && (await findManifest(config, { target, source }, new Date(String(unrecordedAt))));
  return landing || JSON.parse(String(row?.origin));
}

/** The result of a landing that is loaded. @param main of the main table of its source @param notes of the load */
export function describeLoad({ manifest, acceptDrop }: Landed, main: Facts, notes: readonly string[]): PullResult {
  const { deleted, inserted, changed, held } = main;
  const lacking = listUnknown(manifest, acceptDrop).filter(({ isUnsupported = false }) => !isUnsupported);
  const missing = joinNotes(lacking.map(describePart));
  return {
    status: missing === null ? 'complete' : 'partial',
    delta: { deleted, inserted, changed, rowsAfter: held - deleted + inserted },
    extractedAt: manifest.as_of,
    note: joinNotes([...(missing === null ? [] : [missing]), ...(manifest.notes ?? []), ...notes]),
    unknownParts: manifest.unknown_parts && listUnknown(manifest, acceptDrop),
    origin: { place: manifest.place, installation: manifest.installation },
  };
}

/** `unknown_parts` has every part. */
const MAX_NOTES = 5;

function joinNotes(notes: readonly string[]): string | null {
  const others = notes.length > MAX_NOTES ? [`${notes.length - MAX_NOTES} more`] : [];
  return notes.length === 0 ? null : [...notes.slice(0, MAX_NOTES), ...others].join('; ');
}
