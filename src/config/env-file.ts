import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { errorMessage, TidemarkError } from '../core/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The environment, with the variables of the file `.env` beside the configuration that it does not have.
 * @throws TidemarkError CONFIG if the file cannot be read
 */
export function withEnvFile(directory: string, env: Environment): Environment {
  const file = join(directory, '.env');
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...env };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return env;
    throw new TidemarkError('CONFIG', `${file} cannot be read: ${errorMessage(error)}`, { cause: error });
  }
}
