import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import type { PermissionText } from '../../src/run/permissions.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';
import { cacheFolder, hasTool, INSTALL_MS } from './install.ts';

/** Parses the printed policies with the module of the server: it refuses what its client does not look at. */
const execute = promisify(execFile);
const hasGo = hasTool('go', 'version', 'the printed policies are not parsed by the module of Nomad');

async function buildParser(): Promise<string> {
  const folder = cacheFolder('policies/main.go', 'policies/go.mod');
  await mkdir(folder, { recursive: true });
  const program = `${folder}/policies`;
  const cwd = new URL('policies', import.meta.url).pathname;
  if (!existsSync(program)) await execute('go', ['build', '-o', program, '.'], { cwd, timeout: INSTALL_MS });
  return program;
}

/** What the server of each policy says of it; null where it accepts it. */
async function parsePolicies(policies: readonly { readonly service: string; readonly rules: string }[]) {
  const running = execute(await buildParser());
  running.child.stdin?.end(JSON.stringify(policies));
  const { stdout } = await running;
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string | null);
}

describe.skipIf(!hasGo)('the policies that permissions prints', () => {
  test(
    'are accepted by Nomad, with every playbook and with one token or two',
    async () => {
      const place = await testProject({ workspaces: 5, flavor: 'hashicorp' });
      const playbooks = builtInPlaybooks.flatMap(({ name }) => ['--playbook', name]);
      const policies: { service: string; rules: string }[] = [];
      for (const hasTwo of [true, false]) {
        await place.configure((config) => {
          if (!hasTwo) delete findTarget(config, 'nomad').writeToken;
        });
        const { stdout } = await place.tidemark(['permissions', '--json', ...playbooks]);
        for (const { target, text } of JSON.parse(stdout) as PermissionText[]) {
          if (target === 'nomad') policies.push({ service: target, rules: text });
        }
      }
      expect(policies).toHaveLength(3);
      expect(await parsePolicies(policies)).toEqual(policies.map(() => null));
    },
    INSTALL_MS,
  );

  test(
    'are parsed by what refuses a wrong one',
    async () => {
      const wrong = 'plugin {\n  policy = "read"\n}\nplugin {\n  policy = "wrong"\n}\n';
      expect(await parsePolicies([{ service: 'nomad', rules: wrong }])).not.toEqual([null]);
    },
    INSTALL_MS,
  );
});
