import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Config } from '../config/config.ts';
import type { WorkContext } from '../core/context.ts';
import { ignoreMissing } from '../core/fs.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { openPublished, type Warehouse, withPublished, withWarehouse } from '../warehouse/session.ts';
import { quoteIdent } from '../warehouse/sql-files.ts';
import type { AbsenceEvidence } from './define.ts';
import type { SeenLedger } from './ledger-chain.ts';
import { findingIds, type Plan } from './plan-file.ts';

type Published = Pick<Warehouse, 'database' | 'files'>;

/**
 * Queries of a command to the published warehouse, which stays open between them: opening it takes longer than a query. A run may
 * replace that warehouse meanwhile, so that each query is of the newest one.
 */
export class PublishedReads {
  readonly #config: Config;
  readonly #context: WorkContext;
  #open: ({ readonly version: string } & Published) | undefined;
  #accepted: { readonly version: string; readonly ids: ReadonlySet<string> } | undefined;

  constructor(config: Config, context: WorkContext) {
    this.#config = config;
    this.#context = context;
  }

  /** IDs of those findings of the plan that are accepted now. Queried again whenever the warehouse was published. */
  async acceptedFindings(plan: Plan): Promise<ReadonlySet<string>> {
    const version = `${plan.plan_id} ${await this.#readVersion()}`;
    if (this.#accepted?.version !== version) this.#accepted = { version, ids: await this.#queryAccepted(plan) };
    return this.#accepted.ids;
  }

  /** The IDs that the warehouse knows in the list of an evidence. */
  async knownIds(
    target: string,
    { table, column, within }: AbsenceEvidence['known'],
    inputs: Readonly<Record<string, unknown>>,
  ): Promise<readonly string[]> {
    // A plan of an earlier version may lack the input.
    const isWithin = within !== undefined && inputs[within[1]] !== undefined;
    const parent = isWithin ? String(inputs[within[1]]) : target;
    const { database, files } = await this.#openNewest();
    const sql = await files.render('remediation/known_ids', {
      table: quoteIdent(table),
      column: quoteIdent(column),
      within: quoteIdent(isWithin ? within[0] : 'target'),
    });
    return (await database.rows(sql, { target, parent })).map(({ id }) => String(id));
  }

  async seenLedger(): Promise<SeenLedger> {
    return readSeenLedger(await this.#openNewest());
  }

  /** The ID of the warehouse; undefined where it has none. */
  async warehouseId(): Promise<string | undefined> {
    return findWarehouseId(await this.#openNewest());
  }

  close(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }

  async #openNewest(): Promise<Published> {
    const version = await this.#readVersion();
    if (this.#open?.version === version) return this.#open;
    this.close();
    this.#open = { version, ...(await openPublished(this.#config)) };
    return this.#open;
  }

  /** Changes with each publication. */
  async #readVersion(): Promise<string> {
    const file = await stat(warehouseFiles(this.#config.data).published).catch(ignoreMissing);
    return `${file?.ino} ${file?.mtimeMs}`;
  }

  async #queryAccepted({ actions }: Plan): Promise<ReadonlySet<string>> {
    const { database, files } = await this.#openNewest();
    const ids = actions.flatMap(findingIds);
    const now = this.#context.clock.now().toISOString();
    const rows = await database.rows(await files.read('remediation/finding_states'), { ids, now });
    return new Set(rows.filter(({ state }) => state === 'accepted').map(({ finding_id }) => String(finding_id)));
  }
}

/** What a warehouse has seen of the ledger. */
export async function readSeenLedger({ database, files }: Published): Promise<SeenLedger> {
  const [table] = await database.rows(await files.read('remediation/has_ledger_head'));
  const [head] = table?.present === true ? await database.rows(await files.read('remediation/ledger_head')) : [];
  const rows = await database.rows(await files.read('remediation/seen_actions'));
  return {
    head: head && { lines: Number(head.lines), digest: String(head.digest) },
    rows: rows as unknown as SeenLedger['rows'],
  };
}

/** The ID of the published warehouse: one that only `tidemark pull` has written gets it under the lock. */
export async function identifyPublished(config: Config, { log, clock }: WorkContext): Promise<string> {
  const known = await withPublished(config, findWarehouseId);
  return known ?? withWarehouse({ config, purpose: 'playbook', now: clock.now(), log }, ensureWarehouseId);
}

async function findWarehouseId({ database, files }: Published): Promise<string | undefined> {
  const [row] = await database.rows(await files.read('remediation/warehouse_id'));
  return row ? String(row.warehouse_id) : undefined;
}

/** Assigns an ID to the warehouse if it has none. */
export async function ensureWarehouseId({ database, files }: Warehouse): Promise<string> {
  await database.run(await files.read('remediation/set_warehouse_id'), { warehouse_id: randomUUID() });
  const [row] = await database.rows(await files.read('remediation/warehouse_id'));
  return String(row?.warehouse_id);
}
