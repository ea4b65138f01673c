import { findNamed } from '../config/suggest.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { collectRights, formatPermissions, type PermissionText } from '../run/permissions.ts';
import { loadDefinitions } from '../run/plugins/index.ts';
import type { DefineCommand, Lists } from './define.ts';
import { assertTargets, readConfig } from './options.ts';
import { writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .repeatable('--target <name>', 'only this target')
    .repeatable('--playbook <name>', 'also the rights of this playbook')
    .choice('--token <which>', 'only for one token of each target, without its heading', ['read', 'write'])
    .runs(() => import('./permissions.ts'), 'permissions');

interface PermissionFlags extends Lists<'target' | 'playbook'> {
  /** `read`: `token`; `write`: `writeToken`. @default both */
  readonly token?: 'read' | 'write';
}

const TOKENS = { read: 'token', write: 'writeToken' } as const;

export async function permissions(context: Context, flags: PermissionFlags): Promise<void> {
  const config = readConfig(context);
  const names = assertTargets(config, flags.target);
  const { sources, playbooks } = await loadDefinitions(config);
  const selected = flags.playbook.map((name) => findNamed(playbooks, 'playbook', name));
  const targets = config.targets.filter(({ name }) => names.length === 0 || names.includes(name));
  if (targets.length === 0) throw new TidemarkError('USAGE', 'no target is selected');
  const wanted = flags.token && TOKENS[flags.token];
  const isToBeMade = wanted === 'writeToken' || undefined; // its rights are asked for before there is one
  const rights = targets.flatMap((target) => collectRights(target, sources, selected, isToBeMade));
  const texts = rights.filter(({ token }) => wanted === undefined || token === wanted).map(formatPermissions);
  if (texts.length === 0) {
    throw new TidemarkError('USAGE', `no selected target needs a ${wanted}`, {
      hint: 'name a playbook that changes something there with --playbook',
    });
  }
  const isAlone = wanted !== undefined && texts.length === 1;
  writeResult(context, texts, () => texts.map((each) => (isAlone ? each.text : formatText(each, texts))).join('\n'));
}

/** The heading is a comment in every language, so that the output of one token can be piped into a file. */
function formatText({ target, kind, token, usage, text }: PermissionText, all: readonly PermissionText[]): string {
  const heading = `${token} of ${target} (${kind}): ${usage}`;
  const hasTwo = all.filter((other) => other.target === target).length > 1;
  return hasTwo ? `# ${token}\n# ${heading}\n${text}` : `# ${heading}\n${text}`;
}
