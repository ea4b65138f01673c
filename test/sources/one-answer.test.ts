import { expect, test } from 'vitest';
import { findTarget, testProject } from '../helpers/test-project.ts';

/** For each source, the path of one of its answers, and what names it there. */
const ANSWERS: Readonly<Record<string, RegExp>> = {
  keys: /^\/v1\/keymgmt\/key\/([^/]+)$/u,
  kms_providers: /^\/v1\/keymgmt\/kms\/([^/]+)$/u,
  key_distributions: /^\/v1\/keymgmt\/kms\/[^/]+\/key\/([^/]+)$/u,
  mesh_roles: /^\/v1\/[^/]+\/roles\/([^/]+)$/u,
  acl_policies: /^\/v1\/acl\/policy\/([^/]+)$/u,
  agents: /\/agent-pools\/([^/]+)\/agents$/u,
  volumes: /^\/v1\/volume\/csi\/([^/]+)$/u,
};

test('a source that fails at one answer of many says which', async () => {
  const broken = new Map<string, string>();
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path, method }) => {
      for (const [source, pattern] of Object.entries(ANSWERS)) {
        const name = method === 'GET' ? pattern.exec(path)?.[1] : undefined;
        if (name === undefined || (broken.get(source) ?? name) !== name) continue;
        broken.set(source, name);
        return { status: 200, headers: { 'content-type': 'application/json' }, body: '"odd"' };
      }
      return undefined;
    },
  });
  const sources = Object.keys(ANSWERS).flatMap((name) => ['--source', name]);
  await place.tidemark(['pull', ...sources]);
  const rows = await place.rows('select source, error from pulls');
  const errors = new Map(rows.map(({ source, error }) => [source, String(error)]));
  expect([...broken.keys()].sort()).toEqual(Object.keys(ANSWERS).sort());
  for (const [source, name] of broken) {
    const subject = `${source === 'volumes' ? 'volume ' : ''}${decodeURIComponent(name)}`;
    const [start = ''] = subject.split(/\s/u); // a message is one line
    expect(errors.get(source)).toContain(`200 malformed: ${start}`);
  }
});

test('a list of one pool that changes at three readings, and then keeps still, is loaded', async () => {
  let readings = 0;
  let changing: string | undefined;
  const place = await testProject({
    workspaces: 5,
    faultHook: ({ path }) => {
      const pool = ANSWERS.agents?.exec(path)?.[1];
      changing ??= pool;
      if (pool === undefined || pool !== changing || ++readings > 3) return undefined;
      const pagination = { 'current-page': 1, 'next-page': null, 'total-pages': 1, 'total-count': readings };
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, body: JSON.stringify({ data: [], meta: { pagination } }) };
    },
  });
  await place.pull(['--source', 'agents']);
  expect(readings).toBeGreaterThan(3);
});

test('a name that holds a secret is masked as a whole where its answer is odd', async () => {
  const secret = 'own-secret-0123456789abcdef';
  const name = `${'n'.repeat(185)}${secret}`;
  const json = (body: unknown) => ({
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const place = await testProject({
    workspaces: 2,
    faultHook: ({ path }) => {
      if (path === '/v1/acl/policies') return json([{ Name: name }]);
      return path.startsWith('/v1/acl/policy/') ? json('odd') : undefined;
    },
  });
  await place.configure((config) => {
    findTarget(config, 'nomad').writeToken = secret;
  });
  await place.tidemark(['pull', '--source', 'acl_policies']);
  const [row] = await place.rows('select error from pulls');
  expect(row?.error).toContain('nnn');
  expect(row?.error).not.toContain(secret.slice(0, 12));
});
