import type { Check } from './check-token.ts';

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
  if (about === 'configuration' && DEFINED.has(check)) return `correct the ${check} that the checks above name`;
  if (about === 'configuration') return `replace the ${check}: a secret must be long and random`;
  if (about === 'mail') return 'check `mail.smtp` in tidemark.yaml, and whether the mail server runs';
  if (about === 'warehouse') {
    return check === 'space' ? 'free space on the disk of the warehouse' : `repair the warehouse: ${detail}`;
  }
  if (check === 'reachable') return `${about}: check \`url\` in tidemark.yaml, and the network`;
  if (check === 'state') return `${about} is ${detail}`;
  if (check === 'token') {
    return `${about}: set a valid token; \`${program} permissions --target ${about}\` prints the rights that it needs`;
  }
  if (check === 'organization') return `${about}: check \`organization\` in tidemark.yaml`;
  if (check === 'explorer') return `${about}: ${detail.replace(/^.*?: /u, '')}`;
  if (check === 'clock') return `set the clock of this machine, or of ${about}`;
  return `${about}: give the token the missing rights (\`${program} permissions --target ${about}\`), or list the sources under \`without:\``;
}
