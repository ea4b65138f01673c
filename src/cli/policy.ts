import { existsSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { POLICY_FILE, type PolicyRow, readPolicy } from '../config/policy.ts';
import type { Context } from '../core/context.ts';
import { EXIT, TidemarkError } from '../core/errors.ts';
import { isPresent, overlayRoots } from '../core/paths.ts';
import { plural } from '../core/plural.ts';
import type { FlaggedVersion, PolicyEffect } from '../tell/findings/check-policy.ts';
import { comparePolicies, findImpossible } from '../tell/findings/check-policy.ts';
import { warehouseFiles } from '../warehouse/publish.ts';
import { withPublished } from '../warehouse/session.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { formatTable, writeResult } from './output.ts';

export const define: DefineCommand = (policy) => {
  policy
    .command('check')
    .argument('[file]', 'policy; policy/versions.yaml beside the configuration unless given')
    .runs(() => import('./policy.ts'), 'check');
};

/** Validates a policy, and compares what it flags with what the policy of the last run does. */
export async function check(context: Context, given: string | undefined): Promise<void> {
  const config = readLocalConfig(context);
  const file = given === undefined ? join(config.directory, POLICY_FILE) : resolve(context.cwd, given);
  if (!existsSync(file)) {
    throw new TidemarkError('USAGE', `${file} does not exist`, { hint: 'docs/policy.md shows how to write one' });
  }
  const policy = readPolicy(file);
  const name = relative(context.cwd, file);
  const impossible = await findImpossible(createSqlFiles(overlayRoots(config.directory)), policy, name);
  if (impossible.length > 0)
    throw new TidemarkError('CONFIG', impossible.join('\n'), { hint: 'exchange the two versions' });
  const effect = await readEffect(config, policy);
  writeResult(context, { file: name, statements: policy.length, ...effect }, () =>
    formatEffect(context, `${name} is valid: ${plural(policy.length, 'statement')}`, effect),
  );
  if (!effect) return;
  for (const gap of effect.gaps) context.log.warn(`${gap}: more may be flagged`);
  if (effect.added.length > 0) context.exit(EXIT.findings);
  else if (effect.gaps.length > 0 || effect.unknown.length > 0) context.exit(EXIT.incomplete);
}

/** Null before the first pull of a version that knows policies. */
async function readEffect(config: Config, policy: readonly PolicyRow[]): Promise<PolicyEffect | null> {
  if (!isPresent(warehouseFiles(config.data).published)) return null;
  const targets = config.targets.map(({ name }) => name);
  const { thresholds } = config;
  return withPublished(config, (published) => comparePolicies({ ...published, policy, thresholds, targets }));
}

function formatEffect(context: Context, heading: string, effect: PolicyEffect | null): string {
  if (!effect) return `${heading}. It can be compared after the next pull.\n`;
  const { added, ended, unknown, unused } = effect;
  return [
    `${heading}\n`,
    ...unused.map((name) => `nothing in use is ${name}\n`),
    formatList(context, plural(added.length, 'new finding'), added),
    formatList(context, `${ended.length} no longer flagged`, ended),
    ...(unknown.length > 0 ? [formatList(context, `${unknown.length} cannot be compared`, unknown)] : []),
  ].join('');
}

/** Rows of a list that a terminal shows; `--json` has all. */
const MAX_ROWS = 50;

function formatList(context: Context, heading: string, all: readonly FlaggedVersion[]): string {
  const { colors } = context;
  const rows = all.slice(0, MAX_ROWS).map(({ severity, target, rule, title }) => [severity, target, rule, title]);
  const more = all.length > rows.length ? `and ${all.length - rows.length} more; --json has all\n` : '';
  const table = rows.length > 0 ? formatTable(['severity', 'target', 'rule', 'what'], rows, context) : '';
  return `\n${colors.bold(heading)}\n${table}${more}`;
}
