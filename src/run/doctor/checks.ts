import type { Redactor } from '../../core/redact/redactor.ts';

/** The result of one check. */
export interface Check {
  /** False if something does not work. */
  readonly ok: boolean;
  /** Works, but a person should look at it. */
  readonly warning?: true;
  /** A target's name, `configuration`, `warehouse` or `mail`. */
  readonly about: string;
  readonly check: string;
  readonly detail: string;
}

/** The checks of one subject. Details may repeat what a service says, so that secrets are masked. */
export function createCheckList(about: string, redactor?: Redactor) {
  const checks: Check[] = [];
  const add = (result: Pick<Check, 'ok' | 'warning'>) => (check: string, detail: string) =>
    void checks.push({ ...result, about, check, detail: redactor?.text(detail) ?? detail });
  return { checks, ok: add({ ok: true }), warn: add({ ok: true, warning: true }), fail: add({ ok: false }) };
}

export type CheckList = ReturnType<typeof createCheckList>;

/** Steps that are printed; those after them show when these are done. */
const MAX_STEPS = 6;

/** What the user can do next, the first step first: what must be repaired, or how to go on where everything works. */
export function listNextSteps(
  checks: readonly Check[],
  { program, hasWarehouse }: { readonly program: string; readonly hasWarehouse: boolean },
): readonly string[] {
  const failed = checks.filter(({ ok }) => !ok);
  if (failed.length > 0) {
    const repairs = [...new Set(failed.map((check) => toRepair(check, program)))];
    const more = repairs.length > MAX_STEPS ? [`and ${repairs.length - MAX_STEPS} more of the checks above`] : [];
    return [...repairs.slice(0, MAX_STEPS), ...more, `run \`${program} doctor\` again`];
  }
  const warnings = checks.some(({ warning }) => warning) ? ['look at the warnings above; they stop nothing'] : [];
  if (!hasWarehouse) return [...warnings, `run \`${program} run nightly\`, the first pull with reports`];
  return [
    ...warnings,
    `look at \`${program} status\``,
    `leave \`${program} schedule\` running, or start \`${program} run nightly\` from cron`,
  ];
}

/** Checks of what a user may define (`checkDefinitions`). */
const DEFINED = new Set(['jobs', 'policy', 'reports', 'routes', 'rules']);

function toRepair({ about, check, detail }: Check, program: string): string {
  const rights = `\`${program} permissions --target ${about}\``;
  if (about === 'mail') return 'check `mail.smtp` in tidemark.yaml, and whether the mail server runs';
  if (about === 'configuration') {
    if (DEFINED.has(check)) return `correct the ${check} that the checks above name`;
    return `replace the ${check}: a secret must be long and random`;
  }
  if (about === 'warehouse') {
    return check === 'space' ? 'free space on the disk of the warehouse' : `repair the warehouse: ${detail}`;
  }
  /** What to do about a check of a target. */
  const repairs: Readonly<Record<string, string>> = {
    clock: `set the clock of this machine, or of ${about}`,
    state: `${about} is ${detail}`,
    reachable: `${about}: check \`url\` in tidemark.yaml, and the network`,
    answers: `${about}: check \`url\` in tidemark.yaml, and what answers there`,
    token: `${about}: set a valid token; ${rights} prints the rights that it needs`,
    organization: `${about}: check \`organization\` in tidemark.yaml`,
    explorer: `${about}: ${detail.replace(/^.*?: /u, '')}`,
  };
  return (
    repairs[check] ?? `${about}: give the token the missing rights (${rights}), or list the sources under \`without:\``
  );
}
