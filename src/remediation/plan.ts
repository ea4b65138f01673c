import { randomBytes } from 'node:crypto';
import type { Config, Target } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { ServiceError } from '../http/service-error.ts';
import type { Deed, Desk, Playbook } from '../playbooks/playbook.ts';
import { loadRules } from '../warehouse/find-rules.ts';
import { openPublished, type Warehouse } from '../warehouse/session.ts';
import { type Caps, requireWithin, type Touched } from './caps.ts';
import { type Draft, draftOf, whyNotDrafted } from './draft.ts';
import { type FarSide, farSide } from './far-side.ts';
import { giveIdentity, identityOf } from './identity.ts';
import { digestOf, type Plan } from './plan-file.ts';
import { type Candidate, type Selection, selectFindings } from './select.ts';

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

type DeskRows = (
  query: string,
  params: Readonly<Record<string, string>>,
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

interface Means {
  readonly far: FarSide;
  readonly rows: DeskRows;
  readonly now: Date;
}

interface Drafted {
  readonly drafts: readonly Draft[];
  /** Rows that are touched, by target. */
  readonly touches: ReadonlyMap<string, ReadonlySet<string>>;
  readonly skipped: Plan['skipped'];
}

async function draftAll(options: PlanOptions, selection: Selection, means: Means): Promise<Drafted> {
  const drafts: Draft[] = [];
  const touches = new Map<string, Set<string>>();
  const skipped = [...selection.skipped];
  for (const findings of groupsOf(options.playbook, selection.candidates)) {
    const target = options.config.targets.find(({ name }) => name === findings[0]?.target);
    if (!target) continue;
    const outcome = await planFor(options, findings, target, means);
    if (typeof outcome === 'string') {
      skipped.push(...findings.map(({ finding_id }) => ({ finding_id, reason: outcome })));
      continue;
    }
    for (const { deed, draft } of outcome) {
      drafts.push(draft);
      const touched = deed.touches === undefined ? findings.map(({ subject_id }) => subject_id) : [deed.touches];
      const known = touches.get(target.name) ?? new Set();
      touches.set(target.name, known);
      for (const row of touched) if (row !== null) known.add(row);
    }
  }
  return { drafts, touches, skipped };
}

/** The findings that make one plan together. */
function groupsOf({ together }: Playbook, candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  if (!together) return candidates.map((finding) => [finding]);
  const targets = [...new Set(candidates.map(({ target }) => target))];
  return targets.map((target) => candidates.filter((finding) => finding.target === target));
}

/** The deeds for findings, all of them fit to be called; or why there are none. */
async function planFor(
  { playbook, config, context }: PlanOptions,
  findings: readonly Candidate[],
  target: Target,
  { far, rows, now }: Means,
): Promise<readonly { readonly deed: Deed; readonly draft: Draft }[] | string> {
  const desk: Desk = {
    target,
    now,
    thresholds: config.thresholds,
    ask: (operation, args, how) => far.read(target.name, operation, args as Readonly<Record<string, unknown>>, how),
    rows: (query, params) => rows(query, { ...params, target: target.name }),
  };
  try {
    const planned = await playbook.plan(findings, desk);
    if ('skip' in planned) return planned.skip;
    return planned.map((deed) => ({ deed, draft: draftOf(deed, findings, target) }));
  } catch (error) {
    if (context.signal.aborted) throw error;
    const reason = context.redactor.text(whyNotDrafted(error));
    if (error instanceof ServiceError) context.log.warn(`${findings[0]?.title}: not planned: ${reason}`);
    return reason;
  }
}

function touchedBy(
  table: string,
  touches: Drafted['touches'],
  population: readonly Readonly<Record<string, unknown>>[],
): readonly Touched[] {
  return [...touches]
    .filter(([, rows]) => rows.size > 0)
    .map(([target, { size: rows }]) => {
      const of = Number(population.find((row) => row.target === target)?.rows ?? 0);
      return { target, table, rows, of };
    });
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
