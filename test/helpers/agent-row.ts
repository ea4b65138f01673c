import type { Rows } from './findings-warehouse.ts';

export const agent = (id: string, status: string | null, ping: string | null, pool = 'apool-1'): Rows[number] => ({
  agent_id: id,
  pool_id: pool,
  name: `agent "${id}"`,
  status,
  last_ping_at: ping,
});
