import type { z } from 'zod';
import type { Target, Thresholds } from '../core/config.ts';
import type { ArgsOf, Operation } from '../services/operation.ts';
import type { Answer, Step } from './step.ts';

/** A finding as a playbook sees it; `detail` is what its rule put there. */
export interface Finding<D = unknown> {
  readonly finding_id: string;
  readonly target: string;
  readonly subject_id: string;
  readonly subject_name: string | null;
  readonly title: string;
  readonly detail: D;
}

/** One call to come: the step, the facts it is made from, and what it does in a clause (`delete agent a-1 of pool edge`). */
export interface Deed {
  readonly step: Step;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly summary: string;
  /** The row it touches, where that is not the finding's subject; null for one that it adds. */
  readonly touches?: string | null;
}

/** Why nothing is planned for a finding. */
export interface Skip {
  readonly skip: string;
}

export const skip = (reason: string): Skip => ({ skip: reason });

/** What planning may use. It can only read. */
export interface Desk {
  readonly target: Target;
  readonly thresholds: Thresholds;
  /** The plan's time. */
  readonly now: Date;
  /** Asks the far side; every page of a list with `whole`. @throws ServiceError, save where the subject is not there. */
  ask<O extends Operation>(operation: O, args: ArgsOf<O>, options?: { readonly whole?: boolean }): Promise<Answer>;
  /** Rows of a query in `queries/remediation/`, over the published warehouse; `$target` is given. */
  rows(query: string, params?: Readonly<Record<string, string>>): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

type Planned = readonly Deed[] | Skip;

interface About {
  /** As in `tidemark playbook plan NAME`; its file bears it too. */
  readonly name: string;
  /** The rule whose findings it acts on: `queries/findings/RULE.sql`. */
  readonly rule: string;
  /** What it does, in a clause. */
  readonly about: string;
  /** The table whose rows `--max-percent` counts. */
  readonly table: string;
  readonly steps: readonly Step[];
}

/** A playbook as the engine takes it. */
export interface Playbook extends About {
  /** All findings of a target make one plan together; else each makes its own. */
  readonly together: boolean;
  /** @throws ZodError for a finding whose detail is not what the playbook needs. */
  readonly plan: (findings: readonly Finding[], desk: Desk) => Promise<Planned>;
}

/** A playbook that acts finding by finding. Deeds of one finding are a chain: where one fails, the rest are left. */
export function playbook<D>(
  declared: About & {
    readonly detail: z.ZodType<D>;
    readonly plan: (finding: Finding<D>, desk: Desk) => Planned | Promise<Planned>;
  },
): Playbook {
  const { detail, plan, ...about } = declared;
  return {
    ...about,
    together: false,
    plan: async ([finding], desk) => (finding ? plan(withDetail(finding, detail), desk) : []),
  };
}

/** A playbook that answers all findings of a target with one plan. */
export function groupPlaybook<D>(
  declared: About & {
    readonly detail: z.ZodType<D>;
    readonly plan: (findings: readonly Finding<D>[], desk: Desk) => Planned | Promise<Planned>;
  },
): Playbook {
  const { detail, plan, ...about } = declared;
  return {
    ...about,
    together: true,
    plan: async (findings, desk) =>
      plan(
        findings.map((finding) => withDetail(finding, detail)),
        desk,
      ),
  };
}

function withDetail<D>(finding: Finding, detail: z.ZodType<D>): Finding<D> {
  return { ...finding, detail: detail.parse(finding.detail) };
}

/** A playbook of one step whose facts are the finding's detail. */
export function simplePlaybook<D extends Readonly<Record<string, unknown>>>(
  declared: Omit<About, 'steps'> & {
    readonly detail: z.ZodType<D>;
    readonly step: Step;
    readonly summary: (finding: Finding<D>) => string;
  },
): Playbook {
  const { step, summary, ...rest } = declared;
  return playbook({
    ...rest,
    steps: [step],
    plan: (finding) => [{ step, facts: finding.detail, summary: summary(finding) }],
  });
}
