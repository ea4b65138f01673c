import { basename, dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { makeFolder, removePaths } from '../core/fs.ts';
import { isPresent, overlayRoots } from '../core/paths.ts';
import { openDatabase } from '../warehouse/database.ts';
import { migrate } from '../warehouse/migrate.ts';
import { publishFile, warehouseFiles } from '../warehouse/publish.ts';
import { type LockedOptions, withWarehouseLock } from '../warehouse/session.ts';
import { createSqlFiles, quoteIdent, quoteLiteral } from '../warehouse/sql-files.ts';
import { describeProblem, type Lake, type LakeProblem } from './log.ts';
import { createLakeReader, createTableViews } from './reader.ts';
import { listRelations, type Relation, RUNS } from './relations.ts';
import { WRITERS } from './statements.ts';
import type { LakeStore } from './store.ts';
import { type DescribedRelation, RUNS_TABLE } from './table.ts';
import { DIALECTS, LATEST, renderAt, renderHistory, type ViewWriter } from './views.ts';

interface RestoreOptions extends Omit<LockedOptions, 'purpose'> {
  readonly store: LakeStore;
}

/**
 * Makes the warehouse of the data folder out of a lake: every table with its history, as of the last publish. What a log lacks is named,
 * and the rest is restored.
 * @throws TidemarkError UNSAFE if there is a warehouse already; DATA if the lake has no publish, or a data file is missing or changed
 */
export async function restoreFromLake(options: RestoreOptions) {
  const { config } = options;
  const paths = warehouseFiles(config.data);
  const existing = [paths.published, paths.work].find(isPresent);
  if (existing) {
    throw new TidemarkError('UNSAFE', `there is a warehouse already: ${existing}`, {
      hint: 'move it away first, or set `data` to another folder',
    });
  }
  return withWarehouseLock({ ...options, purpose: 'lake restore' }, async () => {
    // Not the working file: a run would go on with what a killed restore has left.
    const staging = join(dirname(paths.work), 'restoring');
    const file = join(staging, basename(paths.work));
    await removePaths([staging]);
    await makeFolder(staging);
    try {
      const restored = await fillWarehouse(options, file);
      await publishFile(file, paths.published, config.groupRead ? 0o440 : 0o400);
      return restored;
    } finally {
      await removePaths([staging]);
    }
  });
}

async function fillWarehouse({ config, store, now }: RestoreOptions, file: string) {
  const database = await openDatabase(file, { memoryLimit: config.memoryLimit, ownFolderIn: dirname(file) });
  try {
    const files = createSqlFiles(overlayRoots(config.directory));
    await migrate(database, files);
    const losses: LakeProblem[] = [];
    const reader = createLakeReader({ store, database, files, nowMs: now.getTime() }, losses, true);
    const relations = await createTableViews(reader);
    const held = new Map(relations.map((relation) => [relation.name, relation]));
    if (!held.has(RUNS)) {
      const loss = losses.find(({ table }) => table === RUNS_TABLE);
      const why = loss ? ` that can be read: ${describeProblem(loss)}` : '';
      throw new TidemarkError('DATA', `${store.name} is not a lake${why}`, {
        hint: 'name the folder that `tidemark lake publish` wrote',
      });
    }
    const which = config.shard ? `publish % ${WRITERS} = ${config.shard.index}` : 'true';
    await database.run(files.render('lake/restored_runs', { which }));
    const restored: Awaited<ReturnType<typeof fillTable>>[] = [];
    for (const relation of await listRelations(reader)) {
      const source = held.get(relation.name);
      if (source && relation.kind !== 'rollup') restored.push(await fillTable(reader, config, relation, source));
      if (relation.source) await forgetMissing(reader, relation, source);
    }
    // What the lake does not have begins with its next pull, as after an update, and the views know what updates added.
    await database.run(files.read('warehouse/schema_digest_clear'));
    await migrate(database, files);
    await database.run('checkpoint');
    return {
      tables: restored,
      /** What the lake had and has no longer: the warehouse has less than was published. */
      losses: losses.map(describeProblem),
      /** A publish has stated what the logs have: without that, the end of a log can be gone. */
      isStated: (await reader.statements()).size > 0,
    };
  } finally {
    database.close();
  }
}

async function forgetMissing({ database, files }: Lake, { stored, columns }: Relation, source?: DescribedRelation) {
  const table = quoteIdent(stored);
  if (!source) return database.run(files.render('lake/forget_table', { stored: table }));
  const known = new Set(source.columns.map(({ name }) => name));
  for (const { name } of columns.filter((column) => !known.has(column.name)))
    await database.run(files.render('lake/forget_column', { stored: table, column: quoteIdent(name) }));
}

/** Logs that each shard keeps of its own time, and that a target needs whole: states of findings are read from their events. */
const TOLD_BY_TARGET = new Set(['finding_events', 'partial_periods', 'pulls']);

async function fillTable(
  { database, files }: Lake,
  { shard, targets }: Config,
  { stored, byTarget, kind, columns }: Relation,
  source: DescribedRelation,
) {
  const isOfTarget = byTarget || TOLD_BY_TARGET.has(stored);
  // The rows of a target are those of its shard now, whichever has published them.
  const names = targets.map(({ name }) => quoteLiteral(name)).join(', ');
  const runs = isOfTarget ? 'runs_changes' : 'lake_restored_runs';
  const writer: ViewWriter = { files, dialect: DIALECTS.duckdb, relations: [], table: quoteIdent, runs };
  const isHistory = kind === 'history';
  const known = new Set(source.columns.map(({ name }) => name));
  const sql = files.render(isHistory ? 'lake/restore_history' : 'lake/restore_log', {
    stored: quoteIdent(stored),
    columns: columns
      .filter(({ name }) => known.has(name))
      .map(({ name, type }) => `${quoteIdent(name)}::${type} as ${quoteIdent(name)}`)
      .join(', '),
    query: isHistory ? renderHistory(writer, source) : renderAt(writer, source, LATEST),
    which: isOfTarget && shard ? `list_contains([${names}]::varchar[], target)` : 'true',
  });
  return { table: stored, rows: await database.write(sql) };
}
