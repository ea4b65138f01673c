import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { JobResult } from '../../src/run/run.ts';
import { VERSION_QUESTIONS } from '../../src/services/describe-server.ts';
import { warehouseFiles } from '../../src/warehouse/publish.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { type CliRun, cli } from '../helpers/cli.ts';
import { startWithEmptyWarehouse } from '../helpers/prepared.ts';
import { createPublishedReader, type PublishedReader } from '../helpers/published-reader.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';
import { type Recorded, readRecorded } from './recorded.ts';
import { type ReplayServer, replay } from './replay-server.ts';

const atEnd = cleanAtEnd();

/** Half a minute after the answers were recorded. */
const NOW = '2026-11-22T00:30:00Z';
const TOKEN = 'token-of-the-replay';

const NOMAD = [
  'token-self-management',
  'plugins-list',
  'namespaces-list',
  'policy-list',
  'policy-read',
  'policy-read-unknown-key',
  'volumes-list-all-namespaces',
  'volume-read-claimed',
  'volume-read',
  'external-list',
  'snapshot-list',
];
const VAULT = [
  'lookup-self',
  'capabilities-self',
  'health',
  'mounts',
  'roles-list',
  'role-read-legacy',
  'role-read-ops',
  'role-read-web',
];
const CONSUL = ['token-self', 'agent-self-anonymous', 'roots', 'catalog-services-full', 'leaf'];
const AUTOSCALER = ['health', 'metrics'];

const servers: Record<string, ReplayServer> = {};
let folder: string;
let reader: PublishedReader;
let night: JobResult;

beforeAll(async () => {
  folder = await tempFolder(atEnd);
  servers.nomad = await replay(prefixed('nomad', NOMAD), [readOf('scratch', 'default'), readOf('data', 'team-a')]);
  const health = { ...readRecorded('vault/health'), path: `/v1${VERSION_QUESTIONS.secrets.operation.path}` };
  servers.vault = await replay(prefixed('vault', VAULT), [health]);
  servers.consul = await replay(prefixed('consul', CONSUL));
  servers.scaler = await replay(prefixed('autoscaler', AUTOSCALER));
  await writeFile(join(folder, 'tidemark.yaml'), stringify(configuration()));
  await startWithEmptyWarehouse(join(folder, 'data'));
  reader = createPublishedReader(warehouseFiles(join(folder, 'data')).published);
  atEnd(reader.close);
  const run = await tidemark('run', 'nightly', '--json');
  expect([run.exit, run.stderr]).toEqual([0, expect.any(String)]);
  night = run.json<JobResult>();
});
afterAll(() => {
  for (const server of Object.values(servers)) server.close();
});

function prefixed(product: string, names: readonly string[]): string[] {
  return names.map((name) => `${product}/${name}`);
}

/** The answers to reading two volumes were not recorded: the list's fields in the answer of a third. */
function readOf(id: string, namespace: string): Recorded {
  const listed = JSON.parse(readRecorded('nomad/volumes-list-all-namespaces').body) as Record<string, unknown>[];
  const read = readRecorded('nomad/volume-read');
  const body = { ...(JSON.parse(read.body) as object), ...listed.find(({ ID }) => ID === id) };
  const query = namespace === 'default' ? '' : `?namespace=${namespace}`;
  return { ...read, path: `/v1/volume/csi/${id}${query}`, body: JSON.stringify(body) };
}

function configuration() {
  const common = { flavor: 'hashicorp', limits: { requestsPerSecond: 1000, concurrency: 8 } };
  const withToken = { ...common, token: TOKEN };
  return {
    data: './data',
    output: './out',
    targets: [
      { name: 'nomad', kind: 'scheduler', url: servers.nomad!.url, namespace: '*', ...withToken },
      {
        name: 'vault',
        kind: 'secrets',
        url: servers.vault!.url,
        without: ['keys', 'kms_providers', 'key_distributions'],
        ...withToken,
      },
      { name: 'consul', kind: 'mesh', url: servers.consul!.url, services: ['web'], ...withToken },
      { name: 'scaler', kind: 'autoscaler', url: servers.scaler!.url, ...common },
    ],
  };
}

function tidemark(...words: readonly string[]): Promise<CliRun> {
  return cli([...words, '--now', NOW], { cwd: folder });
}

async function rows(sql: string): Promise<Row[]> {
  return reader.rows(sql);
}

test('every source is complete, and asked for nothing that was not recorded', async () => {
  const pulls = await rows('select source, status from pulls order by target, source');
  expect(pulls.map(({ status }) => status).filter((status) => status !== 'complete')).toEqual([]);
  const unanswered = Object.entries(servers).map(([name, server]) => [name, [...new Set(server.unanswered)].sort()]);
  expect(Object.fromEntries(unanswered)).toEqual({
    nomad: [
      'GET /v1/acl/policy/anonymous', // asked where it is not listed; it does not exist
      'GET /v1/agent/self', // was not recorded
    ],
    vault: ['GET /v1/sys/health?perfstandbyok=true&standbyok=true'], // as that of the agent, for who answers
    consul: [],
    scaler: [],
  });
});

test('the volumes of both namespaces, with what may become of them', async () => {
  expect(await rows('select volume_id, namespace, access_mode, current_writers from volumes order by 1')).toEqual([
    { volume_id: 'data', namespace: 'team-a', access_mode: null, current_writers: 0 },
    { volume_id: 'db', namespace: 'default', access_mode: 'single-node-writer', current_writers: 1 },
    { volume_id: 'scratch', namespace: 'default', access_mode: null, current_writers: 0 },
    { volume_id: 'web', namespace: 'default', access_mode: null, current_writers: 0 },
  ]);
  const [web] = await rows(
    "select topologies, requested_capabilities, created_at from volumes where volume_id = 'web'",
  );
  expect(web).toMatchObject({
    topologies: [{ 'topology.hostpath.csi/node': 'node-1' }],
    requested_capabilities: [
      { AccessMode: 'single-node-writer', AttachmentMode: 'file-system' },
      { AccessMode: 'multi-node-multi-writer', AttachmentMode: 'file-system' },
    ],
    created_at: null,
  });
});

test('a claim whose map has no allocation gets it from the list', async () => {
  expect(await rows('select volume_id, mode, job_id, node_name, client_status from volume_allocations')).toEqual([
    { volume_id: 'db', mode: 'write', job_id: 'app', node_name: 'vm', client_status: 'pending' },
  ]);
});

test('an unattached volume is published on no node', async () => {
  expect(await rows('select published_node_ids from external_volumes order by external_id')).toEqual([
    { published_node_ids: ['node-1'] },
    { published_node_ids: [] },
    { published_node_ids: [] },
    { published_node_ids: [] },
  ]);
  expect(await rows('select count(*)::int as n, bool_and(is_ready) as ready from volume_snapshots')).toEqual([
    { n: 2, ready: true },
  ]);
});

test('policies, roles and certificates', async () => {
  expect(await rows('select name, rules from acl_policies order by name')).toEqual([
    { name: 'odd', rules: 'namespace "default" { polcy = "read" }' },
    { name: 'ro', rules: 'namespace "default" { policy = "read" }' },
  ]);
  expect(await rows('select name, token_type, consul_policies, ttl from mesh_roles order by name')).toEqual([
    { name: 'legacy', token_type: 'client', consul_policies: null, ttl: '7200' },
    { name: 'ops', token_type: 'management', consul_policies: null, ttl: '0' },
    { name: 'web', token_type: 'client', consul_policies: ['web'], ttl: '3600' },
  ]);
  expect(await rows('select name, active, serial_number, not_after from ca_roots')).toMatchObject([
    { name: 'Consul CA Primary Cert', active: true, serial_number: 12 },
  ]);
  expect(await rows('select service, serial_number from leaf_certificates')).toEqual([
    { service: 'web', serial_number: '0e' },
  ]);
});

test('the versions that the servers tell, and why one is not known', async () => {
  expect(await rows('select target, product, version, note from servers order by target')).toEqual([
    { target: 'consul', product: 'consul', version: null, note: 'its version is not known: /agent/self answered 403' },
    { target: 'nomad', product: 'nomad', version: null, note: 'its version is not known: /agent/self answered 404' },
    { target: 'scaler', product: 'nomad-autoscaler', version: null, note: null },
    { target: 'vault', product: 'vault', version: '1.3.0-dev', note: null },
  ]);
  expect(await rows("select status, note from pulls where source = 'servers' and target = 'consul'")).toEqual([
    { status: 'complete', note: 'its version is not known: /agent/self answered 403' },
  ]);
});

test('no secret of an answer is in a table or in a landing', async () => {
  const dump = JSON.stringify(await rows('select * from tokens'));
  expect(dump).not.toContain('00000000-aaaa-bbbb-cccc-000000000001');
  expect(dump).not.toContain('hvs.removed');
});

test('every rule is evaluated over what was recorded, and what a night finds and reports is as it was', async () => {
  expect([night.findings?.failed, night.failed_reports]).toEqual([[], []]);
  const found = await rows('select severity, rule, target, title from findings order by all');
  const gaps = await rows('select rule, target, reason from unassessed_rules where ended_at is null order by all');
  const headlines = await Promise.all(
    night.reports.map(async (name) => {
      const { state, summary } = JSON.parse(await readFile(join(folder, 'out', `${name}.json`), 'utf8'));
      return { report: name, state, headline: summary.headline };
    }),
  );
  const lines = [...headlines, ...found, ...gaps].map((row) => `${Object.values(row).join(' | ')}\n`);
  await expect(lines.join('')).toMatchFileSnapshot('night.txt');
});

test('reports render what was recorded', async () => {
  const storage = await tidemark('report', '--json', 'storage');
  expect([storage.exit, storage.stderr]).toEqual([0, expect.any(String)]);
  expect(JSON.stringify(storage.json())).toContain('hostpath-plugin0');
});

test('playbooks plan nothing that the recorded services do not need', async () => {
  const plan = async (playbook: string) => {
    const { stdout } = await tidemark('playbook', 'plan', playbook, '--json', '--max-percent', '100');
    return JSON.parse(stdout) as { readonly actions: readonly unknown[]; readonly skipped: { reason: string }[] };
  };
  // The role `ops` has no policy: as a client role its tokens could do nothing.
  const roles = await plan('downgrade-management-roles');
  expect(roles.actions).toEqual([]);
  expect(roles.skipped.map(({ reason }) => reason)).toEqual([expect.stringContaining('names no policy')]);
  expect((await plan('deregister-missing-volumes')).actions).toEqual([]);
  expect((await plan('detach-lost-claims')).actions).toEqual([]);
});
