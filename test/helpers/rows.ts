import { openDatabase } from '../../src/warehouse/database.ts';
import type { Row } from '../../src/warehouse/values.ts';

/** Rows of a warehouse's file, read as any reader would. */
export async function readRows(file: string, sql: string): Promise<Row[]> {
  const database = await openDatabase(file, { readOnly: true });
  try {
    return await database.rows(sql);
  } finally {
    database.close();
  }
}
