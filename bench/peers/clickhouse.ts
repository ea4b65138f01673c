import type { Row } from '../../src/warehouse/values.ts';
import { type EngineAddress, type FleetEngine, loadDriver } from './address.ts';

/** Outer joins give NULL as in the standard; numbers and times are written as the other engines write them. */
const SETTINGS = {
  join_use_nulls: 1,
  output_format_json_quote_64bit_integers: 0,
  date_time_output_format: 'iso',
  // A load balancer ends a connection that is silent for a minute.
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: '20000',
} as const;

/** Sends queries to a ClickHouse server over HTTP. */
export async function openClickhouse(
  { server, user, path }: EngineAddress,
  password: string,
  signal: AbortSignal,
): Promise<FleetEngine> {
  const { ClickHouseLogLevel, createClient } = await loadDriver(
    '@clickhouse/client',
    () => import('@clickhouse/client'),
  );
  const client = createClient({
    url: server,
    username: user,
    password,
    database: path[0] ?? 'default',
    application: 'tidemark',
    request_timeout: 600_000,
    log: { level: ClickHouseLogLevel.OFF }, // the error that is thrown says the same
    clickhouse_settings: SETTINGS,
  });
  return {
    dialect: 'clickhouse',
    async rows(sql) {
      try {
        const result = await client.query({ query: sql, format: 'JSONEachRow', abort_signal: signal });
        return await result.json<Row>();
      } catch (error) {
        signal.throwIfAborted();
        throw error;
      }
    },
    close: () => client.close(),
  };
}
