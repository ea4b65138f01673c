// The reference for the pull of a CSV file: runs one statement in a new database file.
import { DuckDBInstance } from '@duckdb/node-api';

const [file, sql] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();
await connection.run(sql);
await connection.run('checkpoint');
connection.closeSync();
instance.closeSync();
