// The reference for the pull of CSV files: runs statements in a new database file.
import { DuckDBInstance } from '@duckdb/node-api';

const [file, ...statements] = process.argv.slice(2);
const instance = await DuckDBInstance.create(file);
const connection = await instance.connect();
for (const statement of statements) await connection.run(statement);
await connection.run('checkpoint');
connection.closeSync();
instance.closeSync();
