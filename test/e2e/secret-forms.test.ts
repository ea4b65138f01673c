import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { withHeartbeat } from '../../src/run/heartbeat.ts';
import { findForms, secretForms } from '../helpers/secret-forms.ts';
import { testProject } from '../helpers/test-project.ts';

const SECRET = 'platform/token+of"odd<characters>&7391';
const HALF_ESCAPED = `\\u0070${JSON.stringify(SECRET.slice(1)).slice(1, -1)}`;

/** JSON in which a name is every form, as the service wrote it: a form may use escapes of its own. */
function echo(forms: Readonly<Record<string, string>>): string {
  const data = Object.values(forms).map((form, index) => {
    const isEscaped = form.includes('\\u') || form.includes('\\"');
    const name = isEscaped ? `"${form}"` : JSON.stringify(form);
    return `{"id":"apool-${index}","type":"agent-pools","attributes":{"name":${name}}}`;
  });
  return `{"data":[${data.join(',')},{"id":"apool-x","type":"agent-pools","attributes":{"name":"${HALF_ESCAPED}"}}]}`;
}

async function readTexts(folder: string): Promise<readonly (readonly [string, string])[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && !entry.name.endsWith('.yaml'));
  return Promise.all(
    files.map(async ({ parentPath, name }) => [name, await readFile(join(parentPath, name), 'latin1')] as const),
  );
}

test('no form of a token that a service echoes reaches files, tables, reports, messages or the output of api', async () => {
  const forms = secretForms(SECRET);
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      if (path.endsWith('/agent-pools')) {
        return { status: 200, headers: { 'content-type': 'application/json' }, body: echo(forms) };
      }
      if (path.includes('/explorer')) {
        return { status: 403, headers: {}, body: JSON.stringify({ errors: Object.values(forms) }) };
      }
      return undefined;
    },
  });
  await project.configure((config) => {
    const target = config.targets.find(({ kind }) => kind === 'platform');
    if (target) Object.assign(target, { token: SECRET });
  });
  const outputs = [
    await project.tidemark(['pull', '--source', 'agent_pools', '--source', 'workspaces']),
    await project.tidemark(['pull', '--source', 'workspaces', '--json']),
    await project.tidemark(['api', 'platform.agent-pools.list']),
    await project.tidemark(['api', 'platform.agent-pools.list', '--all']),
    await project.tidemark(['report', 'overview', 'agent-health']),
    await project.tidemark(['sql', 'select * from agent_pools']),
  ];
  expect(await project.rows('select count(*)::int as n from agent_pools')).toEqual([{ n: 13 }]);
  for (const { stdout, stderr } of outputs) {
    expect(findForms(stdout, SECRET)).toEqual([]);
    expect(findForms(stderr, SECRET)).toEqual([]);
  }
  for (const [name, text] of await readTexts(project.folder))
    expect([name, findForms(text, SECRET)]).toEqual([name, []]);
});

test('what one volume calls a token hides no other volume', async () => {
  const volume = (ID: string, Parameters: object) => ({
    ID,
    Namespace: 'default',
    ReadAllocs: {},
    WriteAllocs: {},
    Parameters,
  });
  const volumes = [
    volume('a-1', { api_token: 'payments-db' }),
    volume('a-2', {}),
    ...[1, 2, 3, 4, 5].map((number) => volume(`payments-db-${number}`, { size: String(number) })),
  ];
  const project = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      const found = volumes.find(({ ID }) => path.endsWith(`/volume/csi/${ID}`));
      const body = path.endsWith('/volumes') ? volumes.map(({ ID }) => ({ ID, Namespace: 'default' })) : found;
      return body && { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    },
  });
  await project.configure((config) => {
    for (const target of config.targets) target.limits = { concurrency: 1 };
  });
  await project.pull(['--source', 'volumes']);
  expect(await project.rows(`select volume_id, parameters ->> 'size' as size from volumes order by all`)).toEqual(
    volumes.map(({ ID, Parameters }) => ({ volume_id: ID, size: (Parameters as { size?: string }).size ?? null })),
  );
});

test('api prints the token that it was asked to generate', async () => {
  const project = await testProject({ workspaces: 2 });
  const names = await project.tidemark(['api', 'secrets.mesh-roles.list']);
  const [name] = (JSON.parse(names.stdout) as { data: { keys: string[] } }).data.keys;
  const { stdout } = await project.tidemark(['api', 'secrets.mesh-creds.generate', `name=${name}`, '--yes']);
  const token = (JSON.parse(stdout) as { data: { token: string } }).data.token;
  expect(token).toMatch(/^[0-9a-f-]{36}$/u);
});

test('the token in the address of a heartbeat is a secret', async () => {
  const server = createServer((request, response) => response.writeHead(500).end(request.url));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const redactor = new Redactor();
  const lines: string[] = [];
  const log = createLog({ write: (line) => lines.push(line), redactor, quiet: false });
  const token = '0b5cfa1e-heartbeat-token';
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ping/${token}`;
  await withHeartbeat(
    { url, log, env: {}, redactor },
    () => true,
    async () => log.warn(`an echo of ${token}`),
  );
  expect(lines.join('')).toContain('an echo of ***');
  expect(lines.join('')).not.toContain(token);
});
