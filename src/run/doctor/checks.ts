import type { Redactor } from '../../core/redact/redactor.ts';

export interface Check {
  /** False if something does not work. */
  readonly ok: boolean;
  /** Works, but a person should look at it. */
  readonly warning?: true;
  /** A target's name, `configuration`, `warehouse`, `lake` or `mail`. */
  readonly about: string;
  readonly check: string;
  readonly detail: string;
  /** What to do about it, where something does not work. */
  readonly repair?: string;
}

/** The checks of one subject. Details may repeat what a service says, so that secrets are masked. */
export function createCheckList(about: string, redactor?: Redactor) {
  const checks: Check[] = [];
  const mask = (text: string) => redactor?.text(text) ?? text;
  const rights = `\`tidemark permissions --target ${about}\``;
  const giveRights = `${about}: give the token the missing rights (${rights}), or list the sources under \`without:\``;
  const add =
    (result: Pick<Check, 'ok' | 'warning'>) =>
    /** @param repair of a failure. @default the rights of the target */
    (check: string, detail: string, repair = giveRights) =>
      void checks.push({ ...result, about, check, detail: mask(detail), ...(!result.ok && { repair: mask(repair) }) });
  return { checks, ok: add({ ok: true }), warn: add({ ok: true, warning: true }), fail: add({ ok: false }) };
}

export type CheckList = ReturnType<typeof createCheckList>;

/** Steps that are printed; those after them show when these are done. */
const MAX_STEPS = 6;

/** What the user can do next, the first step first: what must be repaired, or how to go on where everything works. */
export function listNextSteps(checks: readonly Check[], hasWarehouse: boolean): readonly string[] {
  const repairs = [...new Set(checks.flatMap(({ repair }) => repair ?? []))];
  if (repairs.length > 0) {
    const more = repairs.length > MAX_STEPS ? [`and ${repairs.length - MAX_STEPS} more of the checks above`] : [];
    return [...repairs.slice(0, MAX_STEPS), ...more, 'run `tidemark doctor` again'];
  }
  const warnings = checks.some(({ warning }) => warning) ? ['look at the warnings above; they stop nothing'] : [];
  if (!hasWarehouse) return [...warnings, 'run `tidemark run nightly`, the first pull with reports'];
  return [
    ...warnings,
    'look at `tidemark status`',
    'leave `tidemark schedule` running, or start `tidemark run nightly` from cron',
  ];
}
