import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import type { CliRun } from '../helpers/cli.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { runApi } from './api-harness.ts';
import { pool, query, role, save, wrongCalls } from './api-wrong-calls.ts';

let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = await startTestSandbox({ workspaces: 60 });
});
afterAll(() => sandbox.close());
beforeEach(() => {
  sandbox.log.length = 0;
});

const run = (words: readonly string[], body?: unknown, flavor = 'spec'): Promise<CliRun> => {
  const config = sandbox.config().replaceAll('    kind:', `    flavor: ${flavor}\n    kind:`);
  return runApi([...words, ...(body === undefined ? [] : ['--body', JSON.stringify(body)])], { config });
};

describe('what is checked before anything is sent', () => {
  it.each(wrongCalls)('refuses with exit 2: $rule', async ({ words, body, flavor, says: [where, part] }) => {
    const { exit, stderr, stdout } = await run(words, body, flavor);
    expect(stderr).toContain(`${words[0]}: ${where}: `);
    expect(stderr).toContain(part);
    expect(exit).toBe(2);
    expect(stdout).toBe('');
    expect(sandbox.log).toEqual([]);
  });

  it('says all that is wrong at once', async () => {
    const { stderr } = await run(['platform.agents.list', 'page[size]=x', 'size=3']);
    expect(stderr).toMatch(/agent_pool_id: .*\n.*page\[size\]: .*\n.*: size: /u);
  });
});

describe('what only warns, or is let through', () => {
  it('a name with a slash, which the documents do not rule out, as one segment', async () => {
    await run(['secrets.keys.read', 'name=a/b c?.']);
    expect(sandbox.log[0]?.path).toBe('/v1/keymgmt/key/a%2Fb%20c%3F.');
  });

  it('a field that the document does not list', async () => {
    const { exit, stderr } = await run(['platform.explorer.query', 'type=workspaces', 'sort=workspace_nme']);
    expect(stderr).toMatch(/warning: .*sort: `workspace_nme` is not a documented field .*did you mean workspace_name/u);
    expect(sandbox.log).toHaveLength(1);
    expect(exit).toBe(3); // the sandbox does not know it either
  });

  it.each([
    ['workspaces', ['resource_count', 'source_module_id', 'tags']],
    ['tf_versions', ['unique_identifier']],
    ['providers', ['registry_type', 'curated']],
    ['modules', ['curated']],
  ])('fields of %s that the real product alone documents', async (view, fields) => {
    const words = query(`type=${view}`, `fields=${fields.join()}`);
    expect((await run(words)).stderr.match(/is not a documented field/gu)).toHaveLength(fields.length);
    expect((await run(words, undefined, 'hashicorp')).stderr).not.toContain('is not a documented field');
  });

  it('fields and sort of a saved view that the document does not list', async () => {
    const query = { fields: ['workspace_nme'], sort: ['-drift'] };
    const { stderr } = await run(save, pool({ name: 'n', query_type: 'workspaces', query }));
    expect(stderr).toMatch(/warning: .*body\.data\.query\.fields: `workspace_nme` .*did you mean workspace_name/u);
    expect(stderr).toMatch(/warning: .*body\.data\.query\.sort: `drift` .*did you mean drifted/u);
  });

  it('two fields at one index, as the document shows them', async () => {
    const words = ['filter[0][name][contains][0]=a', 'filter[0][version][is][0]=1.0.0'];
    const { exit } = await run(query('type=modules', ...words));
    expect(exit).toBe(0);
    const sent = new URLSearchParams(sandbox.log[0]?.query);
    expect([...sent.values()]).toEqual(['modules', 'a', '1.0.0']);
  });

  it('host volumes, which the real product has', async () => {
    const { stderr } = await run(['scheduler.volumes.list', 'type=host'], undefined, 'hashicorp');
    expect(stderr).not.toContain('must be');
    expect(sandbox.log).toHaveLength(1);
  });

  it('times without an offset, and the value of is_empty', async () => {
    const words = ['filter=workspace_created_at:is_after:2026-01-02T03:04:05', 'filter=drifted:is_empty:x'];
    expect((await run(query('type=workspaces', ...words))).exit).toBe(0);
  });

  it('a plugin_id that is a name', async () => {
    const { exit, stderr } = await run(['scheduler.external-volumes.list', 'plugin_id=aws-ebs0', 'per_page=1']);
    expect([exit, stderr]).toEqual([3, expect.stringMatching(/^warning: .*plugin_id: is not hexadecimal/u)]);
  });

  it('an update of a key that resets a field', async () => {
    const { stderr } = await run(['secrets.keys.update', 'name=payments-signing', '--yes'], { deletion_allowed: true });
    expect(stderr).toBe(
      'warning: secrets.keys.update: body.min_enabled_version: is left out, so the update resets it\n',
    );
  });

  it('a plugin_id that finds nothing at the real product, with all namespaces', async () => {
    const { stderr } = await run(['scheduler.volumes.list', 'type=csi', 'plugin_id=aws-ebs0'], undefined, 'hashicorp');
    expect(stderr).toContain('warning: scheduler.volumes.list: plugin_id: finds nothing in the namespace `*`');
    const named = ['scheduler.volumes.list', 'type=csi', 'plugin_id=eb50', 'namespace=prod'];
    expect((await run(named, undefined, 'hashicorp')).stderr).toBe('');
  });

  it('what the real product does not demand: per_page, even node ids, the token of the mesh system', async () => {
    expect(
      (await run(['scheduler.external-volumes.list', 'plugin_id=aws-ebs0'], undefined, 'hashicorp')).stderr,
    ).not.toContain('per_page: is required');
    expect((await run(['scheduler.volumes.list', 'node_id=abc'], undefined, 'hashicorp')).stderr).not.toContain(
      'node_id: must be',
    );
    expect((await run(['secrets.mesh-config.write', '--yes'], { address: 'a:1' }, 'hashicorp')).stderr).not.toContain(
      'body.token',
    );
    expect(sandbox.log).toHaveLength(3);
  });

  it.each([
    [{ policies: 'a,b', lease: '1h' }],
    [{ token_type: 'management' }],
    [{ policies: ['a'], ttl: 3600, max_ttl: '2h' }],
  ])('a role in the form of one version: %j', async (body) => {
    expect((await run(role, body)).stderr).toBe('');
  });

  it('written-out filters, in any order, numbered as the document has them', async () => {
    await run(query('type=workspaces', 'filter[3][workspace_name][contains][0]=a:b', 'filter[1][drifted][is][0]=true'));
    const sent = new URLSearchParams(sandbox.log[0]?.query);
    expect(sent.get('filter[0][drifted][is][0]')).toBe('true');
    expect(sent.get('filter[1][workspace_name][contains][0]')).toBe('a:b');
  });

  it("the real product's names of fields and operators, sent as the flavor has them", async () => {
    const words = query(
      'type=workspaces',
      'filter=workspace_terraform_version:does_not_contain:1',
      'sort=-workspace_iac_version',
      'fields=state-version-terraform-version',
    );
    await run(words);
    await run(words, undefined, 'hashicorp');
    const [documents, hashicorp] = sandbox.log.map((record) => Object.fromEntries(new URLSearchParams(record.query)));
    expect(documents).toEqual({
      type: 'workspaces',
      'filter[0][workspace_iac_version][does not contain][0]': '1',
      sort: '-workspace_iac_version',
      fields: 'state_version_iac_version',
    });
    expect(hashicorp).toMatchObject({
      'filter[0][workspace_terraform_version][does_not_contain][0]': '1',
      sort: '-workspace_terraform_version',
      fields: 'state_version_terraform_version',
    });
  });
});
