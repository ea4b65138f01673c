import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read } from './secrets-client.ts';

interface Metrics {
  readonly Timestamp: string;
  readonly Gauges: readonly { readonly Name: string; readonly Labels: Readonly<Record<string, string>> }[];
  readonly Counters: readonly object[];
  readonly Samples: readonly object[];
  readonly Points: readonly object[] | null;
}

let sandbox: RunningSandbox;
/** Without a token: the agent knows none. */
const send = (line: string): Promise<Answer> => ask(sandbox, 'autoscaler', line, { headers: {} });

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('the agent is alive except on two days of a fortnight', async () => {
  const statuses: number[] = [];
  for (let day = 0; day < 14; day++) {
    statuses.push((await send('GET /health')).status);
    sandbox.tick();
  }
  expect(statuses.map((status, day) => (status === 503 ? day : -1)).filter((day) => day >= 0)).toEqual([5, 11]);
});

test('health has no body when alive, and a reason when not', async () => {
  expect((await send('GET /health')).text).toBe('');
  sandbox.services.autoscaler.state.alive = false;
  const { status, text } = await send('GET /health');
  expect([status, text]).toEqual([503, 'Service unavailable']);
  expect((await send('POST /health')).status).toBe(405);
});

test('the metrics document has gauges, counters, samples and points of the day', async () => {
  const metrics = await read<Metrics>(sandbox, 'autoscaler', 'GET /metrics');
  expect(metrics.Timestamp).toBe('2026-10-01 02:15:00 +0000 UTC');
  expect(metrics.Gauges.map(({ Name }) => Name)).toContain('autoscaler.policy.total_num');
  const shape = ['Count', 'Labels', 'Max', 'Mean', 'Min', 'Name', 'Rate', 'Stddev', 'Sum'];
  for (const series of [...metrics.Counters, ...metrics.Samples]) expect(Object.keys(series)).toEqual(shape);
  expect(metrics.Points).not.toBeNull();
  expect((await send('GET /metrics')).text).toMatch(/"Value":90071992547\d{5}[,}]/);
});

test('the other format is Prometheus text with escaped labels; an unknown format is JSON', async () => {
  const { text, headers } = await send('GET /metrics?format=prometheus');
  expect(headers.get('content-type')).toContain('text/plain');
  for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^[a-z_]+(\{[^\n]*\})? -?[\d.e+-]+$/);
  expect((await send('GET /metrics?format=xml')).headers.get('content-type')).toBe('application/json');
});

test('with the real flavor names carry its prefix and points may be null', async () => {
  await sandbox.close();
  sandbox = await startTestSandbox({ flavor: 'hashicorp' });
  const metrics = await read<Metrics>(sandbox, 'autoscaler', 'GET /metrics');
  expect(metrics.Points).toBeNull();
  expect(metrics.Gauges.every(({ Name }) => Name.startsWith('nomad-autoscaler.'))).toBe(true);
});
