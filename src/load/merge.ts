import { quoteIdent } from '../warehouse/sql-files.ts';
import { fillParams } from '../warehouse/sql-params.ts';
import { sameKey, type Table } from '../warehouse/tables.ts';
import { type Destination, type Landed, literals, type Stage, stageParts } from './stage.ts';

interface MergeOptions {
  /** The landings to load; the others change nothing. */
  readonly accepted: { has(landed: Landed): boolean };
  /** Later than any `valid_from` of the tables (ISO 8601). */
  readonly asOf: string;
  /** A statement of the same transaction. */
  readonly record: string;
  /** Bytes of lists that are merged at once, beside one more list. @default 4 MiB */
  readonly listBytes?: number;
}

const LIST_BYTES = 4 * 1024 * 1024;

/** Writes the differences of stages in one transaction: ends changed and deleted versions, adds changed and new ones. The stages are gone then. */
export async function merge(to: Destination, stages: readonly Stage[], options: MergeOptions): Promise<void> {
  const statements: string[] = [];
  for (const one of stages) statements.push(...(await mergeStatements(to, one, options)));
  const tables = stages.flatMap(({ table: { name } }) => [`delta_${name}`, `stage_${name}`]);
  const drops = tables.map((table) => to.files.render('warehouse/drop_stage', { table }));
  await to.database.transact([...statements, options.record, ...drops]);
}

type Render = (name: string, more?: Readonly<Record<string, string>>) => string;

async function mergeStatements(
  to: Destination,
  { table, facts }: Stage,
  { accepted, asOf, listBytes = LIST_BYTES }: MergeOptions,
): Promise<readonly string[]> {
  const landings = [...facts.keys()].filter((landing) => accepted.has(landing));
  const refused = [...facts.keys()].filter((landing) => !accepted.has(landing));
  if (landings.length === 0) return [];
  const parts = stageParts(table, landings);
  const render: Render = (name, more) =>
    fillParams(to.files.render(`warehouse/${name}`, { ...parts, ...more }), { as_of: asOf });
  const targets = literals(refused.map(({ manifest }) => manifest.target));
  if (refused.length > 0) await to.database.script(render('refuse_changes', { refused: targets }));
  const hasChanges = [...facts].some(
    ([landing, { deleted, inserted, changed }]) => accepted.has(landing) && deleted + inserted + changed > 0,
  );
  return [
    ...(hasChanges && table.members ? await listStatements(to, table, render, listBytes) : []),
    ...(hasChanges ? [render('close_versions'), render('append_versions')] : []),
    ...(table.computed.length > 0 ? [render('refresh_computed')] : []),
  ];
}

/**
 * The statements that write the members which were added, removed or moved in changed lists: part by part, since DuckDB cannot spill a
 * list. They come before those of the rows.
 */
async function listStatements({ database }: Destination, table: Table, render: Render, bytes: number) {
  const keys = {
    listsKey: ['target', ...table.key].map((name) => `lists.${quoteIdent(name)}`).join(', '),
    heldKey: sameKey(table, 'held', 'lists'),
  };
  const rows = await database.script(render('list_parts', { bytes: String(bytes) }));
  return rows.flatMap(({ first, last, has_new, has_known }) => {
    const part = { ...keys, first: String(first), last: String(last) };
    const names = has_new ? ['list_fill'] : [];
    if (has_known) names.push('list_changes', 'list_close', 'list_append');
    return names.map((name) => render(name, part));
  });
}
