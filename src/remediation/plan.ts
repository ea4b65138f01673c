import { randomBytes } from 'node:crypto';
import type { Config } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import { loadRules } from '../warehouse/find-rules.ts';
import { openPublished, type Warehouse } from '../warehouse/session.ts';
import { type Caps, requireWithin } from './caps.ts';
import { type DeskRows, type Drafted, draftAll, touchedBy } from './draft-all.ts';
import { farSide } from './far-side.ts';
import { giveIdentity, identityOf } from './identity.ts';
import { digestOf, type Plan } from './plan-file.ts';
import { selectFindings } from './select.ts';

/** How long a plan may wait for its approval and its end. */
const VALID_MS = 24 * 3_600_000;

export interface PlanOptions {
  readonly config: Config;
  readonly context: Context;
  readonly playbook: Playbook;
  readonly caps: Caps;
  /** @default every configured target */
  readonly targets?: readonly string[];
  /** The working warehouse of a run under way, before it is published. @default the published one */
  readonly warehouse?: Warehouse;
}

/**
 * What a playbook would do about the findings of the warehouse. It reads, and changes nothing on the far side.
 * @throws TidemarkError UNSAFE where it would touch more than the caps allow.
 */
export async function makePlan(options: PlanOptions): Promise<Plan> {
  const { config, context, warehouse } = options;
  if (warehouse) return planOver(options, warehouse, await giveIdentity(warehouse));
  const warehouseId = await identityOf(config, context);
  const published = await openPublished(config);
  try {
    return await planOver(options, published, warehouseId);
  } finally {
    published.database.close();
  }
}

async function planOver(
  options: PlanOptions,
  { database, files }: Pick<Warehouse, 'database' | 'files'>,
  warehouseId: string,
): Promise<Plan> {
  const { config, context, playbook, caps } = options;
  const far = farSide(config, context, context.signal);
  const now = context.clock.now();
  try {
    const rule = (await loadRules(files)).get(playbook.rule);
    const targets = options.targets ?? config.targets.map(({ name }) => name);
    const { staleHours } = config.thresholds;
    const selection = await selectFindings({
      database,
      files,
      rule: playbook.rule,
      sources: rule?.sources ?? [],
      targets,
      now,
      staleHours,
    });
    const rows: DeskRows = async (query, params) => database.rows(await files.text(`remediation/${query}`), params);
    const drafted = await draftAll(options, selection, { far, rows, now });
    const population = await database.rows(await files.filled('remediation/population', { table: playbook.table }));
    requireWithin(caps, drafted.drafts.length, touchedBy(playbook.table, drafted.touches, population));
    const [run] = await database.rows(await files.text('remediation/last_run'));
    return assemble(playbook, drafted, { now, warehouseId, runId: run ? String(run.run_id) : null });
  } finally {
    await far.close();
  }
}

interface Identity {
  readonly now: Date;
  readonly warehouseId: string;
  readonly runId: string | null;
}

function assemble({ name }: Playbook, { drafts, skipped }: Drafted, { now, warehouseId, runId }: Identity): Plan {
  const width = String(drafts.length).length;
  const plan = {
    plan_id: `p-${now.toISOString().replaceAll(/[-:]/gu, '').slice(0, 15)}Z-${randomBytes(4).toString('hex')}`,
    playbook: name,
    created_at: now.toISOString(),
    expires_at: new Date(now.getTime() + VALID_MS).toISOString(),
    run_id: runId,
    warehouse_id: warehouseId,
    actions: drafts.map((draft, index) => ({ action_id: `a${String(index + 1).padStart(width, '0')}`, ...draft })),
    skipped,
  };
  // What the file will hold is what is digested: undefined fields are none there.
  const stored = JSON.parse(JSON.stringify(plan)) as typeof plan;
  return { ...stored, digest: digestOf(stored), approval: null };
}
