import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { isLakeAddress, parseS3Address } from '../config/lake.ts';
import { withEnvFile } from '../config/references.ts';
import { type Context, DEFAULT_TIMEOUTS } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { createS3Store } from './s3/store.ts';
import { createDirectoryStore, type LakeStore } from './store.ts';

type LakeConfig = Pick<Config, 'directory'> & { readonly data?: string; readonly lake?: string | undefined };

export type StoreContext = Pick<Context, 'cwd' | 'env' | 'redactor' | 'signal' | 'timeouts'>;

/** Opens the lake of a configuration, for `work`: a folder, or `s3://BUCKET/PREFIX`. @throws TidemarkError USAGE if it names none */
export async function withLakeStore<T>(
  context: StoreContext,
  config: LakeConfig,
  work: (store: LakeStore) => Promise<T>,
): Promise<T> {
  const location = config.lake;
  if (location === undefined) {
    throw new TidemarkError('USAGE', 'no lake is named', {
      hint: 'give --lake with a folder or s3://BUCKET/PREFIX, or set `lake` in tidemark.yaml',
    });
  }
  const store = isLakeAddress(location)
    ? openS3Store(context, config, location)
    : createDirectoryStore(resolve(context.cwd, location));
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

function openS3Store(context: StoreContext, config: LakeConfig, location: string): LakeStore {
  const address = parseS3Address(location);
  if (!address) {
    throw new TidemarkError('USAGE', `${JSON.stringify(location)} is not the address of a bucket`, {
      hint: 'write s3://BUCKET/PREFIX, such as s3://estate/lake, or a folder',
    });
  }
  return createS3Store({
    ...context,
    address,
    env: withEnvFile(config.directory, context.env),
    timeouts: { ...DEFAULT_TIMEOUTS, ...context.timeouts },
    folder: config.data === undefined ? tmpdir() : join(config.data, 'lake-files'),
  });
}
