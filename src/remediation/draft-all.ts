import { z } from 'zod';
import type { Config, Target } from '../core/config.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { ServiceError } from '../http/service-error.ts';
import type { Deed, Desk, Playbook } from '../playbooks/playbook.ts';
import type { Touched } from './caps.ts';
import { type Draft, draftOf, whyNotDrafted } from './draft.ts';
import type { FarSide } from './far-side.ts';
import type { Plan } from './plan-file.ts';
import type { Candidate, Selection } from './select.ts';

export interface DraftOptions {
  readonly config: Config;
  readonly context: Context;
  readonly playbook: Playbook;
}

export type DeskRows = (
  query: string,
  params: Readonly<Record<string, string>>,
) => Promise<readonly Readonly<Record<string, unknown>>[]>;

export interface Means {
  readonly far: FarSide;
  readonly rows: DeskRows;
  readonly now: Date;
}

export interface Drafted {
  readonly drafts: readonly Draft[];
  /** Rows that are touched, by target. */
  readonly touches: ReadonlyMap<string, ReadonlySet<string>>;
  readonly skipped: Plan['skipped'];
}

export async function draftAll(options: DraftOptions, selection: Selection, means: Means): Promise<Drafted> {
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
  { playbook, config, context }: DraftOptions,
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
    const isAnswer = error instanceof TidemarkError || error instanceof z.ZodError;
    if (!isAnswer || context.signal.aborted) throw error;
    const reason = context.redactor.text(whyNotDrafted(error));
    if (error instanceof ServiceError) context.log.warn(`${findings[0]?.title}: not planned: ${reason}`);
    return reason;
  }
}

export function touchedBy(
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
