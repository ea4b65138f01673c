import { expect, test } from 'vitest';
import { testProject } from '../helpers/test-project.ts';

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
