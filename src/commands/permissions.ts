import { unknownName } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { collectRights, formatPermissions, type PermissionText } from '../pipeline/permissions.ts';
import { loadDefinitions } from '../pipeline/plugins.ts';
import type { Playbook } from '../remediation/define.ts';
import { assertTargets, readConfig } from './options.ts';
import { writeResult } from './output.ts';

export interface PermissionFlags {
  readonly target: readonly string[];
  readonly playbook: readonly string[];
}

export async function permissions(context: Context, flags: PermissionFlags): Promise<void> {
  const config = readConfig(context);
  const names = assertTargets(config, flags.target);
  const { sources, playbooks } = await loadDefinitions(config);
  const selected = flags.playbook.map((name) => findPlaybook(name, playbooks));
  const targets = config.targets.filter(({ name }) => names.length === 0 || names.includes(name));
  if (targets.length === 0) throw new TidemarkError('USAGE', 'no target is selected');
  const texts = targets.flatMap((target) => collectRights(target, sources, selected)).map(formatPermissions);
  writeResult(context, texts, () => texts.map(formatText).join('\n'));
}

function findPlaybook(name: string, playbooks: readonly Playbook[]): Playbook {
  const playbook = playbooks.find((one) => one.name === name);
  if (playbook) return playbook;
  throw unknownName(
    'playbook',
    name,
    playbooks.map((one) => one.name),
  );
}

/** The heading is a comment in every language, so that the output can be piped into a file. */
function formatText({ target, kind, token, usage, text }: PermissionText): string {
  return `# ${token} of ${target} (${kind}): ${usage}\n${text}`;
}
