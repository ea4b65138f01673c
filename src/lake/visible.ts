import { changesTable, PARTITION } from './layout.ts';
import { monthName, quarterStart } from './quarters.ts';
import { createTableView, type LakeReader } from './reader.ts';
import { RUNS } from './relations.ts';

/** The publishes of a writer that readers see, as the table `lake_runs`. */
export interface VisiblePublishes {
  /** `as_of` of the last run that the lake has; undefined for none. */
  readonly after: string | undefined;
  /** The lake has a run that the warehouse does not have. */
  readonly isAhead: boolean;
  /** `as_of` of the last run of the warehouse; undefined for none. */
  readonly latest: string | undefined;
  /** The publishes of the writer: those of the last quarter, or all if it has none there. */
  readonly own: ReadonlySet<number>;
  /** The last publish of the writer; 0 for none. */
  readonly last: number;
  /** The last publish of any writer; 0 for none. */
  readonly lastOfAll: number;
  /** Reads the publishes of all quarters, for rows that are older than the quarter of `after`. */
  readAll(): Promise<void>;
}

/** What makes a publish visible. */
const RUN_FIELDS = [
  { name: 'publish', type: 'long', nullable: true, metadata: {} },
  { name: 'as_of', type: 'timestamp', nullable: true, metadata: {} },
] as const;

/**
 * Reads which publishes readers see. Each has a run in the month of its time, so that the files of the quarter are enough for what is
 * compared with the state of the quarter: the time of a publish does not grow with the years.
 */
export async function readVisible(reader: LakeReader, writer: number): Promise<VisiblePublishes> {
  const quarter = await findQuarter(reader);
  let isWhole = quarter === undefined;
  await load(reader, writer, quarter);
  let found = await summarize(reader);
  if (found.last === 0 && !isWhole) {
    // The last publish of this writer is in an earlier quarter.
    await load(reader, writer, undefined);
    isWhole = true;
    found = await summarize(reader);
  }
  const readAll = async () => {
    if (!isWhole) await load(reader, writer, undefined);
    isWhole = true;
  };
  return { ...found, readAll };
}

/** The first month of the quarter with the newest run; undefined without a run. */
async function findQuarter(reader: LakeReader): Promise<string | undefined> {
  const { files } = await reader.snapshot(changesTable(RUNS));
  const months = [...files.values()].map(({ partitionValues }) => String(partitionValues[PARTITION.changes]));
  const newest = months.sort().at(-1);
  return newest === undefined ? undefined : monthName(quarterStart(new Date(`${newest}-01T00:00:00Z`)));
}

async function load(reader: LakeReader, writer: number, since: string | undefined): Promise<void> {
  const { database, files } = reader;
  await createTableView(reader, 'lake_runs_changes', changesTable(RUNS), {
    fields: RUN_FIELDS,
    keep: ({ partitionValues }) => since === undefined || String(partitionValues[PARTITION.changes]) >= since,
  });
  await database.run(await files.read('lake/visible'));
  await database.run(await files.read('lake/visible_own'), { writer });
}

async function summarize({ database, files }: LakeReader): Promise<Omit<VisiblePublishes, 'readAll'>> {
  const [range] = await database.rows(await files.read('lake/range'));
  const publishes = await database.rows(await files.read('lake/visible_publishes'));
  const own = publishes.filter(({ is_own }) => is_own === true).map(({ publish }) => Number(publish));
  return {
    after: typeof range?.published === 'string' ? range.published : undefined,
    isAhead: range?.is_ahead === true,
    latest: typeof range?.latest === 'string' ? range.latest : undefined,
    own: new Set(own),
    last: Math.max(0, ...own),
    lastOfAll: Math.max(0, ...publishes.map(({ publish }) => Number(publish))),
  };
}
