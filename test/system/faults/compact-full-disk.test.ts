import { readdirSync, statSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { writeCompactCopy } from '../../../src/warehouse/compact.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import { createSqlFiles } from '../../../src/warehouse/sql-files.ts';
import { tempFolder } from '../../helpers/temp.ts';
import { fillDisk, MEBIBYTE, mountUntilEnd, noSmallDisk } from './small-disk.ts';

const ROWS = 400_000;

test.skipIf(noSmallDisk !== undefined)(
  'a disk that is too full for a compact copy leaves the file as it is',
  async () => {
    const disk = join(await tempFolder(), 'disk');
    await mkdir(disk);
    mountUntilEnd(disk, 80);
    const file = join(disk, 'warehouse.duckdb');
    const database = await openDatabase(file, { threads: 1 });
    await database.script(`create table kept as select md5(range::varchar) as a from range(${ROWS});
      create table other as from kept limit 240000; checkpoint; drop table other; checkpoint;`);
    expect(statSync(file).size).toBeGreaterThan(6 * MEBIBYTE);
    fillDisk(disk, MEBIBYTE);

    const lines: string[] = [];
    const add = (text: string) => void lines.push(text);
    const log = { info: add, warn: add, error: add };
    const { signal } = new AbortController();
    const files = createSqlFiles([PACKAGE_ROOT]);
    expect(await writeCompactCopy(database, files, file, { log, signal, minBytes: 0 })).toBe(false);
    database.close();

    expect(lines).toEqual([expect.stringMatching(/not compacted, and stays as it is: .*No space left on device/u)]);
    expect(readdirSync(disk).sort()).toEqual(['ballast', 'warehouse.duckdb']);
    const reopened = await openDatabase(file);
    onTestFinished(() => reopened.close());
    expect(await reopened.rows('select count(*) as n, count(a) as a from kept')).toEqual([{ n: ROWS, a: ROWS }]);
  },
);
