import { stat } from 'node:fs/promises';
import { type Database, openDatabase, type SqlParams } from '../../src/warehouse/database.ts';
import { quoteLiteral } from '../../src/warehouse/sql-files.ts';
import type { Row } from '../../src/warehouse/values.ts';

/** Reads a published warehouse. It keeps the file open until it is replaced, as analysts do. */
export interface PublishedReader {
  rows(sql: string, params?: SqlParams): Promise<Row[]>;
  close(): Promise<void>;
}

/** Of this worker. To attach a file takes half of the time of opening it in an instance of its own. */
let instance: Promise<Database> | undefined;
let readers = 0;
/** `use` is a setting of the connection: one query at a time. */
let last: Promise<unknown> = Promise.resolve();

function enqueue<T>(work: (database: Database) => Promise<T>): Promise<T> {
  instance ??= openDatabase(':memory:', { threads: 1 });
  const opened = instance;
  const next = last.then(async () => work(await opened));
  last = next.catch(() => undefined); // the caller gets the error
  return next;
}

export function createPublishedReader(file: string): PublishedReader {
  const name = `published_${++readers}`;
  let attached: number | undefined;
  const detach = async (database: Database) => {
    if (attached === undefined) return;
    await database.run('use memory');
    await database.run(`detach ${name}`);
    attached = undefined;
  };
  return {
    rows: (sql, params) =>
      enqueue(async (database) => {
        const { ino: inode } = await stat(file);
        if (inode !== attached) {
          await detach(database);
          await database.run(`attach ${quoteLiteral(file)} as ${name} (read_only)`);
          attached = inode;
        }
        await database.run(`use ${name}`);
        return database.rows(sql, params);
      }),
    close: () => enqueue(detach),
  };
}
