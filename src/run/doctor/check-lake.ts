import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Config } from '../../config/config.ts';
import { isLakeAddress } from '../../config/lake.ts';
import { type Clock, formatTimestamp } from '../../core/clock.ts';
import { formatError } from '../../core/errors.ts';
import { plural } from '../../core/plural.ts';
import { type StoreContext, withLakeStore } from '../../lake/open-store.ts';
import { checkPublishable } from '../../lake/publish.ts';
import { contradictionError, type LakeStore, STAGING } from '../../lake/store.ts';
import { warehouseFiles } from '../../warehouse/publish.ts';
import { type Check, createCheckList } from './checks.ts';

export type LakeContext = StoreContext & { readonly clock: Clock };

/** Checks that the lake can be listed, written as two writers do, and read. What it writes has a name of its own, and is removed. */
export async function checkLake(config: Config, context: LakeContext): Promise<readonly Check[]> {
  const { lake, directory, data } = config;
  if (lake === undefined) return [];
  const list = createCheckList('lake', context.redactor);
  if (!isLakeAddress(lake) && !existsSync(resolve(context.cwd, lake))) {
    list.ok('reachable', `none yet at ${lake}: the next run creates it`);
    return list.checks;
  }
  let step = 'reachable';
  const check = async (store: LakeStore) => {
    list.ok(step, `${plural((await store.folders()).length, 'table')} at ${store.name}`);
    step = 'writable';
    list.ok(step, await probeWrites(store));
    step = 'log';
    list.ok(step, await readLog(config, context, store));
  };
  await withLakeStore(context, { lake, directory, data }, check).catch((error: unknown) =>
    list.fail(step, formatError(error), REPAIR),
  );
  return list.checks;
}

const REPAIR = 'check `lake` in tidemark.yaml, and the rights there (docs/lake.md)';

async function probeWrites(store: LakeStore): Promise<string> {
  const path = `${STAGING}/doctor-${randomBytes(8).toString('hex')}`;
  try {
    const created = [await store.createIfAbsent(path, ''), await store.createIfAbsent(path, '')];
    if (!created[0] || created[1]) throw contradictionError(store, path);
    return 'a second writer of one file is refused';
  } finally {
    await store.remove(path);
  }
}

async function readLog(config: Config, { clock }: LakeContext, store: LakeStore): Promise<string> {
  if (!existsSync(warehouseFiles(config.data).published)) return 'not read: there is no warehouse yet';
  const until = await checkPublishable({ config, store, now: clock.now() });
  return until ? `has the runs of this warehouse up to ${formatTimestamp(until)}` : 'has no run of this warehouse yet';
}
