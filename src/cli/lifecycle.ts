import { resolve } from 'node:path';
import type { Context } from '../core/context.ts';
import { readNamedFile } from '../core/fs.ts';
import { plural } from '../core/plural.ts';
import { parseFacts, recordFacts } from '../run/lifecycle.ts';
import { chooseTime } from '../warehouse/latest.ts';
import { withWarehouse } from '../warehouse/session.ts';
import type { DefineCommand } from './define.ts';
import { readLocalConfig } from './options.ts';
import { writeResult } from './output.ts';

export const define: DefineCommand = (lifecycle) =>
  lifecycle
    .command('import')
    .argument('<file>', 'document as queries/lifecycle/products.json, or as endoflife.date answers for a product')
    .runs(() => import('./lifecycle.ts'), 'importFacts');

const MAX_KIBIBYTES = 4096;

export async function importFacts(context: Context, file: string): Promise<void> {
  const config = readLocalConfig(context);
  const now = context.clock.now();
  const document = readNamedFile(resolve(context.cwd, file), { name: file, maxKibibytes: MAX_KIBIBYTES });
  const facts = parseFacts(document, file, now);
  const session = { config, purpose: 'lifecycle import', now, log: context.log };
  const added = await withWarehouse(session, async (warehouse) =>
    recordFacts(warehouse, facts, 'imported', await chooseTime(warehouse, now)),
  );
  const result = { facts: facts.length, new: added, data_as_of: facts[0]?.data_as_of ?? null };
  const rest = added < facts.length ? '; the warehouse has the others, or newer ones' : '';
  const text = `${plural(added, 'new fact')} of ${facts.length}, as of ${result.data_as_of}${rest}\n`;
  writeResult(context, result, () => text);
}
