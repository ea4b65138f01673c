import { TidemarkError } from '../../src/core/errors.ts';
import type { Row } from '../../src/warehouse/values.ts';

/** A database that has the tables and views of `tidemark lake ddl`. */
export interface FleetEngine {
  /** Its name in `tidemark lake ddl --engine`, and the folder of its own queries in `queries/dialects`. */
  readonly dialect: string;
  /** Times are in ISO 8601; integers are numbers. @throws the error of the engine, or the reason of the signal that ended the query */
  rows(sql: string): Promise<readonly Row[]>;
  close(): Promise<void>;
}

/** Where an engine is: `trino+https://user@host:8443/catalog/schema`. */
export interface EngineAddress {
  readonly engine: 'clickhouse' | 'trino';
  /** `http://host:8443` */
  readonly server: string;
  readonly user: string;
  /** Parts of the path: the database, or catalog and schema. */
  readonly path: readonly string[];
}

/** The environment variable with the password of an engine: a command line is visible to other users. */
export const PASSWORD_VARIABLE = 'TIDEMARK_ENGINE_PASSWORD';

const EXAMPLES = 'duckdb, clickhouse://user@host:8123/database or trino+https://user@host:8443/catalog/schema';

/** @throws TidemarkError USAGE */
export function parseEngineAddress(text: string): EngineAddress {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const [, engine, secure] = /^(clickhouse|trino)(\+https)?:$/u.exec(url?.protocol ?? '') ?? [];
  if (!url || !engine || url.host === '') {
    throw new TidemarkError('USAGE', `--engine ${withoutPassword(text)} is not an engine`, {
      hint: `give ${EXAMPLES}`,
    });
  }
  if (url.password !== '') {
    throw new TidemarkError('USAGE', `--engine ${withoutPassword(text)} has a password`, {
      hint: `give it in the environment variable ${PASSWORD_VARIABLE}`,
    });
  }
  const path = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
  const wanted = engine === 'trino' ? 2 : 1;
  if (path.length !== wanted || url.search !== '' || url.hash !== '') {
    const what = engine === 'trino' ? 'its catalog and its schema' : 'its database';
    throw new TidemarkError('USAGE', `--engine ${text} does not name ${what}`, { hint: `give ${EXAMPLES}` });
  }
  return {
    engine: engine as EngineAddress['engine'],
    server: `${secure ? 'https' : 'http'}://${url.host}`,
    user: decodeURIComponent(url.username) || 'tidemark',
    path,
  };
}

function withoutPassword(text: string): string {
  return text.replace(/^([^:]*:\/\/[^:@/]*):[^@/]*@/u, '$1@');
}

/** Loads a driver that is installed beside Tidemark only where it is needed. */
export async function loadDriver<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new TidemarkError('USAGE', `the driver ${name} is not installed`, {
      hint: `install it beside tidemark: npm install ${name}`,
      cause: error,
    });
  }
}
