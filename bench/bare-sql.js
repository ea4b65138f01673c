// What the pull of a CSV is held against: the statement given, in a new database file, and nothing else.
import { DuckDBInstance } from '@duckdb/node-api';

const [file, sql] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();
await connection.run(sql);
await connection.run('checkpoint');
connection.closeSync();
instance.closeSync();
