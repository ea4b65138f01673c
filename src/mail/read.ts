import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { type Database, firstLine, type Params } from '../warehouse/database.ts';
import type { SqlFiles } from '../warehouse/sql-files.ts';
import type { Row } from '../warehouse/values.ts';
import type { Audience } from './audience.ts';
import { loadNumbers, type NumberRow } from './numbers.ts';

/** Lines of a list in a mail; the rest is attached. */
export const MOST_LINES = 20;
const MOST_OLDEST = 8;
/** Rows of the attached CSV: about 2.5 MB, which every mail server takes. */
export const MOST_ATTACHED = 10_000;

export interface ReadOptions {
  /** Temporary tables are made in it; nothing else is written, so that it may be open for reading only. */
  readonly database: Database;
  readonly files: SqlFiles;
  readonly config: Pick<Config, 'targets' | 'thresholds'>;
  readonly job: string;
  /** The run's moment, which the digest tells of. */
  readonly asOf: Date;
}

/** What the warehouse says of a part of the estate, over the time since the digest before. */
export interface DigestData {
  /** Null where nothing was before. */
  readonly since: string | null;
  readonly targets: readonly string[];
  readonly workspaces: number;
  readonly numbers: readonly NumberRow[];
  readonly counts: Readonly<Record<'standing' | 'critical' | 'new' | 'open' | 'resolved', number>>;
  readonly causes: readonly Row[];
  readonly oldest: readonly Row[];
  readonly nights: readonly Row[];
  readonly sources: readonly Row[];
  /** Every finding that it tells of, for the CSV. */
  readonly attached: readonly Row[];
}

export async function readDigest(options: ReadOptions, audience: Audience): Promise<DigestData> {
  const { database, files, config, job, asOf } = options;
  const rows = (name: string, params: Params) => rowsOf(options, `mail/${name}`, params);
  const [first] = await rows('since', { job, as_of: asOf.toISOString() });
  const since = typeof first?.since === 'string' ? first.since : null;
  const params: Params = {
    ...thresholdsOf(config),
    as_of: asOf.toISOString(),
    since,
    nights: nightsTold(since, asOf),
    targets: JSON.stringify(config.targets.map(({ name, kind }) => ({ name, kind }))),
    routes: JSON.stringify(audience.routes),
  };
  await database.run(await files.filled('warehouse/semver_key', { kind: 'temp macro' }));
  for (const table of ['routes', 'workspaces', 'pools', 'findings']) await rows(table, params);
  const numbers = await loadNumbers(files, (name) => rowsOf(options, name, params));
  const [counts] = await rows('counts', params);
  const sources = await rows('sources', params);
  return {
    since,
    numbers,
    sources,
    targets: [...new Set(sources.map(({ target }) => String(target)))],
    workspaces: Number((await rows('workspace_count', params))[0]?.workspaces),
    counts: counts as unknown as DigestData['counts'],
    causes: await rows('causes', { most: MOST_LINES }),
    oldest: await rows('oldest', { most: MOST_OLDEST }),
    nights: await rows('nights', params),
    attached: await rows('attached', { most: MOST_ATTACHED }),
  };
}

/** @throws TidemarkError DATA naming the file whose query fails: it may be a user's own. */
export async function rowsOf(
  { database, files }: Pick<ReadOptions, 'database' | 'files'>,
  name: string,
  params: Params,
): Promise<Row[]> {
  const sql = await files.text(name);
  try {
    return await database.rows(sql, params);
  } catch (error) {
    throw new TidemarkError('DATA', `queries/${name}.sql: ${firstLine(error)}`, { cause: error });
  }
}

function thresholdsOf({ thresholds }: Pick<Config, 'thresholds'>): Params {
  const snake = (name: string) => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(thresholds).map(([name, value]) => [snake(name), value]));
}

const DAY_MS = 24 * 60 * 60_000;
const FEWEST_NIGHTS = 14;
const MOST_NIGHTS = 35;

/** Nights that the bars show: two weeks, or four times the time between two digests where that is longer. */
export function nightsTold(since: string | null, asOf: Date): number {
  const days = since === null ? 1 : Math.ceil((asOf.getTime() - Date.parse(since)) / DAY_MS);
  return Math.min(MOST_NIGHTS, Math.max(FEWEST_NIGHTS, days * 4));
}
