import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import type { Context } from '../core/context.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished, type Warehouse, withWarehouse } from '../warehouse/session.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import type { AbsenceEvidence } from './define.ts';
import { findingIds, type Plan } from './plan-file.ts';

/** Queries of an apply to the published warehouse. A run may replace that warehouse during the apply. */
export class PublishedReads {
  readonly #config: Config;
  readonly #context: Context;
  #accepted: { readonly version: string; readonly ids: ReadonlySet<string> } | undefined;

  constructor(config: Config, context: Context) {
    this.#config = config;
    this.#context = context;
  }

  /** IDs of those findings of the plan that are accepted now. Queried again whenever the warehouse was published. */
  async acceptedFindings(plan: Plan): Promise<ReadonlySet<string>> {
    const { ino, mtimeMs } = await stat(warehouseFiles(this.#config.data).published);
    const version = `${plan.plan_id} ${ino} ${mtimeMs}`;
    if (this.#accepted?.version !== version) this.#accepted = { version, ids: await this.#queryAccepted(plan) };
    return this.#accepted.ids;
  }

  /** The IDs that the warehouse knows in the list of an evidence. */
  async knownIds(
    target: string,
    { table, column, within }: AbsenceEvidence['known'],
    inputs: Readonly<Record<string, unknown>>,
  ): Promise<readonly string[]> {
    const parent = within === undefined ? target : String(inputs[within[1]]);
    const { database, files } = await openPublished(this.#config);
    try {
      const sql = await files.render('remediation/known_ids', {
        table: quoteIdent(table),
        column: quoteIdent(column),
        within: quoteIdent(within?.[0] ?? 'target'),
      });
      return (await database.rows(sql, { target, parent })).map(({ id }) => String(id));
    } finally {
      database.close();
    }
  }

  /** Rows of the table `actions`, which is a copy of the ledger. */
  async recordedActions(): Promise<number> {
    const { database, files } = await openPublished(this.#config);
    try {
      const [row] = await database.rows(await files.read('remediation/count_actions'));
      return Number(row?.actions ?? 0);
    } finally {
      database.close();
    }
  }

  async #queryAccepted({ actions }: Plan): Promise<ReadonlySet<string>> {
    const { database, files } = await openPublished(this.#config);
    try {
      const ids = actions.flatMap(findingIds);
      const now = this.#context.clock.now().toISOString();
      const rows = await database.rows(await files.read('remediation/finding_states'), { ids, now });
      return new Set(rows.filter(({ state }) => state === 'accepted').map(({ finding_id }) => String(finding_id)));
    } finally {
      database.close();
    }
  }
}

/** The ID of the published warehouse. A warehouse without one, written by an early version, gets it under the lock. */
export async function readWarehouseId(config: Config, context: Context): Promise<string> {
  const known = await publishedWarehouseId(config);
  if (known !== undefined) return known;
  const { log, clock } = context;
  return withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, ensureWarehouseId);
}

/** The ID of the published warehouse; undefined where it has none. */
export async function publishedWarehouseId(config: Config): Promise<string | undefined> {
  const { database, files } = await openPublished(config);
  try {
    const [table] = await database.rows(await files.read('remediation/has_warehouse_id'));
    if (table?.present !== true) return undefined;
    const [row] = await database.rows(await files.read('remediation/warehouse_id'));
    return row ? String(row.warehouse_id) : undefined;
  } finally {
    database.close();
  }
}

/** Assigns an ID to the warehouse if it has none. */
export async function ensureWarehouseId({ database, files }: Warehouse): Promise<string> {
  await database.run(await files.read('remediation/set_warehouse_id'), { warehouse_id: randomUUID() });
  const [row] = await database.rows(await files.read('remediation/warehouse_id'));
  return String(row?.warehouse_id);
}
