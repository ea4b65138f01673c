import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { listPrunable, prune as removeOld } from '../run/retention.ts';
import type { DefineCommand, Switches } from './define.ts';
import { readLocalConfig } from './options.ts';
import { formatTable, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .option('--dry-run', 'only show what goes (the default)')
    .option('--yes', 'remove it')
    .runs(() => import('./prune.ts'), 'prune');

/** Shows what goes of each table and folder. It goes with `--yes` alone. */
export async function prune(context: Context, { dryRun = false, yes = false }: Switches<'dryRun' | 'yes'>) {
  if (dryRun && yes) throw new TidemarkError('USAGE', 'give --dry-run or --yes, not both');
  const config = readLocalConfig(context);
  const removals = yes ? await removeOld(config, context) : await listPrunable(config, context);
  writeResult(context, { removed: yes, removals }, () => {
    const lines = removals.map(({ what, count, bytes }) => [what, String(count), String(bytes)]);
    const end = yes ? 'removed' : 'nothing was removed: `tidemark prune --yes` removes it';
    if (removals.every(({ count }) => count === 0)) return 'there is nothing to remove\n';
    return `${formatTable(['what', 'count', 'bytes'], lines, context)}\n${end}\n`;
  });
}
