import type { Row, Value } from '../../src/warehouse/values.ts';
import { type EngineAddress, type FleetEngine, loadDriver } from './address.ts';

interface Column {
  readonly name: string;
  readonly type: string;
}

/** A query that reads a view several times plans it as often, and Trino refuses more than 150 stages. */
const SESSION = { query_max_stage_count: '1000' };

/** Sends queries to a Trino coordinator. */
export async function openTrino(
  { server, user, path: [catalog = '', schema = ''] }: EngineAddress,
  password: string,
  signal: AbortSignal,
): Promise<FleetEngine> {
  const { BasicAuth, Trino } = await loadDriver('trino-client', () => import('trino-client'));
  const auth = new BasicAuth(user, password === '' ? undefined : password);
  const trino = Trino.create({ server, catalog, schema, auth, source: 'tidemark', session: SESSION });
  return {
    dialect: 'trino',
    async rows(sql) {
      const rows: Row[] = [];
      for await (const { id, columns, data, error } of await trino.query(sql)) {
        if (signal.aborted) await trino.cancel(id);
        signal.throwIfAborted();
        if (error) throw new Error(error.message);
        for (const values of data ?? []) rows.push(toRow(columns ?? [], values as readonly Value[]));
      }
      return rows;
    },
    close: async () => {},
  };
}

function toRow(columns: readonly Column[], values: readonly Value[]): Row {
  return Object.fromEntries(columns.map(({ name, type }, index) => [name, toValue(values[index] ?? null, type)]));
}

/** Trino sends decimals and times as text: `1.50`, and `2026-11-20 02:15:00.000 UTC`. */
function toValue(value: Value, type: string): Value {
  if (typeof value !== 'string') return value;
  if (type.startsWith('decimal')) return Number(value);
  if (type.startsWith('timestamp')) return value.replace(' ', 'T').replace(/(?: UTC)?$/u, 'Z');
  return value;
}
