import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import type { FaultHook } from '../../../sandbox/router.ts';
import type { Response } from '../../../sandbox/types.ts';
import { openDatabase } from '../../../src/warehouse/database.ts';
import type { CliRun } from '../../helpers/cli.ts';
import { unpackLandings } from '../../helpers/landings.ts';
import { cleanAtEnd } from '../../helpers/temp.ts';
import { findTarget, type TestProject, testProject } from '../../helpers/test-project.ts';

const atEnd = cleanAtEnd();

/** Where secrets can stand, and what stands there. The odd characters are escaped differently everywhere. */
const PLANTED = {
  smtpPassword: `smtp-p@ss/w&rd<"7391">`,
  kmsCredential: 'kms-credential-4f8a-91c2',
  kmsNested: 'kms-nested-client-secret-77d1',
  volumeSecret: 'volume-secret-0b6e-2284',
  mountFlag: 'mount-flag-password=e0a91b',
  managementToken: 'mesh-management-token-5ac3',
  privateKey: 'MHcCAQEEIPlantedPrivateKeyLine1AoGCCqGSM49',
  snapshotParameter: 'snapshot-parameter-secret-19fa',
  explorerToken: 'explorer-row-token-3be7',
} as const;

/** The sandbox's own tokens are the configured ones: they are looked for too. */
const tokensOf = ({ sandbox }: TestProject) =>
  Object.values(sandbox.tokens).flatMap(({ read, write }) => [read, write]);

/** As `tidemark.yaml` refers to a variable or a file. */
const reference = (name: string) => `\${${name}}`;

/** Every form in which a careless program could let one of the secrets through. */
function listForms(secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => {
    const base64 = Buffer.from(secret).toString('base64').replaceAll('=', '').slice(0, -2);
    const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
    return [secret, encodeURIComponent(secret), base64, html, JSON.stringify(secret).slice(1, -1)];
  });
  return [...new Set(forms)];
}

const json = (body: unknown): Response => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

/** Services that leak: responses contain secrets, and refusals repeat the refused token in four forms. */
const leaking: FaultHook = ({ method, path, headers, query }, service) => {
  const token = headers['x-store-token'] ?? headers.authorization?.replace('Bearer ', '') ?? '';
  const echo = `refused ${headers.authorization} ${token} ${encodeURIComponent(token)} ${Buffer.from(token).toString('base64')} ${Buffer.from(`user:${token}`).toString('base64')}`;
  if (service.kind === 'secrets' && method === 'GET' && /\/kms\/[^/]+$/u.test(path)) {
    const credentials = { client_secret: PLANTED.kmsCredential, nested: { deep: PLANTED.kmsNested } };
    return json({
      data: { provider: 'azurekeyvault', key_collection: 'c', credentials, token: PLANTED.managementToken },
    });
  }
  if (path === '/v1/volumes/snapshot' && query.get('plugin_id') === 'eb50') {
    const snapshot = {
      ID: 's',
      PluginID: 'eb50',
      Parameters: { secret: PLANTED.snapshotParameter },
      Secrets: { a: PLANTED.volumeSecret },
    };
    return json({ Snapshots: [snapshot], NextToken: '' });
  }
  if (path.endsWith('/connect/ca/leaf/web')) {
    return json({
      Service: 'web',
      SerialNumber: '01',
      PrivateKeyPEM: `-----BEGIN KEY-----\n${PLANTED.privateKey}\n-----END KEY-----\n`,
    });
  }
  if (path.endsWith('/agents')) return service.error(403, echo);
  if (path === '/v1/acl/policies') return { status: 500, headers: { 'content-type': 'text/plain' }, body: echo };
  if (path.endsWith('/mesh/roles')) return { status: 403, body: JSON.stringify({ errors: [echo] }) };
  return undefined;
};

/** Pages of subjects differ by their type: a few of each are as good as hundreds. */
function keepFew(map: Map<unknown, unknown>): void {
  for (const key of [...map.keys()].slice(4)) map.delete(key);
}

/** Every file below a folder, but for those that hold the secrets by intention. */
async function filesBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.filter((file) => !['tidemark.yaml', 'vault-token'].includes(relative(folder, file)));
}

async function everyTable(file: string): Promise<string> {
  const database = await openDatabase(file, { readOnly: true });
  try {
    const names = await database.rows('select table_name as name from duckdb_tables()');
    const rows = await Promise.all(names.map(({ name }) => database.rows(`from ${name}`)));
    return JSON.stringify(rows, (_, value) => (typeof value === 'bigint' ? String(value) : value));
  } finally {
    database.close();
  }
}

const QUERIES = ['volumes', 'kms_providers', 'pulls', 'leaf_certificates', 'runs'].map((name) => [
  'sql',
  '--json',
  `from ${name}`,
]);
/** The sources whose refusals repeat the token. */
const REFUSED = ['agents', 'acl_policies', 'mesh_roles'].flatMap((source) => ['--source', source]);

/** `tidemark api` prints what a service answered, by intention: only its refusals are looked at here. */
const COMMANDS: readonly (readonly string[])[] = [
  ['doctor'],
  ['doctor', '--json'],
  ['pull', ...REFUSED],
  ['pull', '--json', ...REFUSED],
  ['run', 'nightly'],
  ['status'],
  ['status', '--json'],
  ...QUERIES,
  ['tables'],
  ['report', 'drift'],
  ['findings', '--json'],
  ['mail', 'nightly', '--to', 'a@acme.example', '--dry-run'],
  ['mail', 'nightly', '--to', 'a@acme.example'],
  ['playbook', 'list'],
  ['playbook', 'ledger', '--json'],
  ['schedule', '--list'],
  ['api', 'platform.agents.list', 'agent_pool_id=apool-1'],
  ['api', 'scheduler.policies.list'],
  ['export', '--out', 'exported'],
  ['init'],
  ['nonsense'],
];

describe('secrets planted wherever one can stand', () => {
  let place: TestProject;
  const runs = new Map<string, CliRun>();
  let forms: readonly string[];

  beforeAll(async () => {
    place = await testProject({ workspaces: 5, faultHook: leaking, cleanup: atEnd });
    const { scheduler, secrets, platform } = place.sandbox.services;
    const plugins = [...scheduler.state.plugins.values()].flatMap(({ externals, snapshots }) => [externals, snapshots]);
    for (const map of [scheduler.state.volumes, secrets.state.keys, ...plugins]) keepFew(map);
    for (const volume of scheduler.state.volumes.values()) volume.secrets = { key: PLANTED.volumeSecret };
    for (const provider of secrets.state.providers.values()) provider.credentials = { secret: PLANTED.kmsCredential };
    platform.state.workspaces[0]!.name = `ws ${place.sandbox.tokens.secrets.read}`;
    await writeFile(join(place.folder, 'vault-token'), `${place.sandbox.tokens.secrets.read}\n`);
    await mkdir(join(place.folder, 'jobs'));
    await place.configure((config) => {
      delete config.subjectPages; // every subject has a page to look at
      findTarget(config, 'acme').token = reference('TFE_TOKEN');
      findTarget(config, 'vault').token = reference('file:vault-token');
      config.mail = {
        smtp: `smtp://reports:${reference('SMTP_PASSWORD')}@127.0.0.1:9`,
        from: 'Tidemark <t@acme.example>',
      };
    });
    const env = {
      TFE_TOKEN: place.sandbox.tokens.platform.read,
      SMTP_PASSWORD: encodeURIComponent(PLANTED.smtpPassword),
    };
    forms = listForms([...Object.values(PLANTED), ...tokensOf(place)]);
    for (const words of COMMANDS) runs.set(words.join(' '), await place.tidemark(words, { env }));
  });

  test('the commands really ran, and the leaks really happened', async () => {
    expect(runs.get(`pull ${REFUSED.join(' ')}`)?.exit).toBe(3);
    expect(runs.get('run nightly')?.exit).toBe(1);
    expect(runs.get(`pull ${REFUSED.join(' ')}`)?.stderr).toMatch(/agents: failed: .*refused Bearer \*\*\*/u);
    const answers = place.sandbox.log.filter(({ path, status }) => path.endsWith('/agents') && status === 403);
    expect(answers.length).toBeGreaterThan(0);
    expect(await place.rows(`select workspace_name from workspaces where workspace_name like 'ws %'`)).toEqual([
      { workspace_name: 'ws ***' },
    ]);
  });

  test.each(COMMANDS.map((words) => words.join(' ')))('`tidemark %s` tells none', (name) => {
    const { stdout = '', stderr = '' } = runs.get(name) ?? {};
    expect(stdout + stderr).not.toBe('');
    for (const form of forms) expect(stdout + stderr).not.toContain(form);
  });

  test('no file holds one: landing, warehouse, reports, mail, Parquet', async () => {
    await unpackLandings(place.folder);
    const files = await filesBelow(place.folder);
    const kinds = ['.ndjson', '.csv', '.duckdb', '.html', '.txt', '.eml', '.parquet'];
    for (const kind of kinds)
      expect(
        files.some((file) => file.endsWith(kind)),
        kind,
      ).toBe(true);
    for (const file of files) {
      const content = await readFile(file, 'latin1');
      for (const form of forms) expect(content.includes(form), `${relative(place.folder, file)}: ${form}`).toBe(false);
    }
  });

  test('a field that holds a secret by its name is not landed at all, however short its value', async () => {
    const files = (await filesBelow(place.folder)).filter((file) => file.endsWith('.ndjson'));
    expect(files.length).toBeGreaterThan(10);
    for (const file of files) {
      const text = await readFile(file, 'utf8');
      expect(text, file).not.toMatch(/"(?:Secrets|credentials|token|client_secret|PrivateKeyPEM|MountFlags)"\s*:/u);
    }
  });

  test.each([join('data', 'warehouse.duckdb'), join('data', 'work', 'warehouse.duckdb')])(
    'no row of %s holds one',
    async (file) => {
      const rows = await everyTable(join(place.folder, file));
      expect(rows.length).toBeGreaterThan(10_000);
      for (const form of forms) expect(rows).not.toContain(form);
    },
  );
});
