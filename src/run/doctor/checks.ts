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
export class CheckList {
  readonly checks: Check[] = [];
  readonly #about: string;
  readonly #redactor: Redactor | undefined;

  constructor(about: string, redactor?: Redactor) {
    this.#about = about;
    this.#redactor = redactor;
  }

  ok(check: string, detail: string): void {
    this.#add({ ok: true }, check, detail);
  }

  warn(check: string, detail: string): void {
    this.#add({ ok: true, warning: true }, check, detail);
  }

  fail(check: string, detail: string): void {
    this.#add({ ok: false }, check, detail);
  }

  #add(result: Pick<Check, 'ok' | 'warning'>, check: string, detail: string): void {
    this.checks.push({ ...result, about: this.#about, check, detail: this.#redactor?.text(detail) ?? detail });
  }
}

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
  if (check === 'clock') return `set the clock of this machine, or of ${about}`;
  if (check === 'state') return `${about} is ${detail}`;
  const repair =
    REPAIRS[check] ?? (() => `give the token the missing rights (${rights}), or list the sources under \`without:\``);
  return `${about}: ${repair(detail, rights)}`;
}

/** What to do about a check of a target. */
const REPAIRS: Readonly<Record<string, (detail: string, rights: string) => string>> = {
  reachable: () => 'check `url` in tidemark.yaml, and the network',
  token: (_, rights) => `set a valid token; ${rights} prints the rights that it needs`,
  organization: () => 'check `organization` in tidemark.yaml',
  explorer: (detail) => detail.replace(/^.*?: /u, ''),
};
