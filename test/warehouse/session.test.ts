import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import { type Warehouse, withWarehouse } from '../../src/warehouse/session.ts';
import { mailConfig } from '../helpers/mail-warehouse.ts';
import { QUIET } from '../helpers/report-warehouse.ts';
import { tempFolder } from '../helpers/temp.ts';

const SESSION = { purpose: 'test', now: new Date(0), log: QUIET };

test('the views exist when the work starts, unless the migration is deferred', async () => {
  const ask = ({ database }: Warehouse) => database.rows('select count(*) as n from source_state');
  const config = mailConfig(await tempFolder());
  expect(await withWarehouse({ ...SESSION, config }, ask)).toEqual([{ n: 0 }]);

  const other = mailConfig(await tempFolder());
  const settled = withWarehouse({ ...SESSION, config: other, deferMigration: true }, async (warehouse) => {
    await expect(ask(warehouse)).rejects.toThrow('source_state does not exist');
    await warehouse.finishMigration();
    return ask(warehouse);
  });
  expect(await settled).toEqual([{ n: 0 }]);
});

test('an unfinished migration is not published, and the next session finishes it', async () => {
  const config = mailConfig(await tempFolder());
  const { published } = warehouseFiles(config.data);
  const failing = withWarehouse({ ...SESSION, config, deferMigration: true }, () => Promise.reject(new Error('no')));
  await expect(failing).rejects.toThrow('no');
  expect(existsSync(published)).toBe(false);
  await withWarehouse({ ...SESSION, config }, async () => {});
  expect(existsSync(published)).toBe(true);
});
