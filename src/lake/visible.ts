import { readHistoryStart } from '../warehouse/history-start.ts';
import { changesTable } from './layout.ts';
import { BEGINNING } from './pending.ts';
import { createTableView, type LakeReader } from './reader.ts';
import { RUNS } from './relations.ts';

/** The publishes that readers see, which are in the table `lake_runs`, as a writer sees them. */
export interface VisiblePublishes {
  /** `as_of` of the last run of the writer that the lake has; undefined for none. */
  readonly after: string | undefined;
  /** The lake has a run of the writer that the warehouse does not have. */
  readonly isAhead: boolean;
  /** `as_of` of the last run of the warehouse; undefined for none. */
  readonly latest: string | undefined;
  /** `as_of` of the first run of the warehouse that the lake does not have; null for none. */
  readonly next: string | null;
  /** Since when the history of the warehouse is whole; `-infinity` where nothing was removed, or the lake is new. */
  readonly start: string;
  /** The last publish of the writer; 0 for none. */
  readonly last: number;
  /** The last publish of any writer; 0 for none. */
  readonly lastOfAll: number;
}

/** What makes a publish visible. */
const RUN_FIELDS = [
  { name: 'publish', type: 'long', nullable: true, metadata: {} },
  { name: 'as_of', type: 'timestamp', nullable: true, metadata: {} },
] as const;

const PULL_FIELDS = [...RUN_FIELDS, { name: 'target', type: 'string', nullable: true, metadata: {} }] as const;

/** Creates the view `lake_runs_changes` of the publishes that readers see. */
export function viewRuns(reader: LakeReader): Promise<void> {
  return createTableView(reader, 'lake_runs_changes', changesTable(RUNS), { fields: RUN_FIELDS });
}

/** Reads which publishes readers see, and until when others have pulled each target. */
export async function readVisible(reader: LakeReader, writer: number): Promise<VisiblePublishes> {
  const { database, files } = reader;
  await viewRuns(reader);
  await database.run(await files.read('lake/visible'), { writer });
  const [row] = await database.rows(await files.read('lake/range'));
  const keep = () => row?.is_shared === true;
  await createTableView(reader, 'lake_pulls', changesTable('pulls'), { fields: PULL_FIELDS, keep });
  await database.run(await files.read('lake/foreign'));
  const toTime = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    after: toTime(row?.after),
    isAhead: row?.is_ahead === true,
    latest: toTime(row?.latest),
    next: toTime(row?.next) ?? null,
    start: Number(row?.last_of_all) > 0 ? ((await readHistoryStart(database, files)) ?? BEGINNING) : BEGINNING,
    last: Number(row?.last),
    lastOfAll: Number(row?.last_of_all),
  };
}
