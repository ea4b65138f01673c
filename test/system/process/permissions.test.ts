import { describe, expect, test } from 'vitest';
import type { TokenGrant } from '../../../sandbox/types.ts';
import { sources } from '../../../src/extract/sources/index.ts';
import { hasSource } from '../../../src/extract/sources/source.ts';
import { collectRights, formatPermissions, type PermissionText, requiredRights } from '../../../src/run/permissions.ts';
import { IDENTITY_QUESTIONS, tokenOperations, VERSION_QUESTIONS } from '../../../src/services/describe-server.ts';
import { operations } from '../../../src/services/index.ts';
import type { Operation } from '../../../src/services/operation.ts';
import { listPlugins } from '../../../src/services/scheduler/operations.ts';
import { createTarget } from '../../helpers/http-service.ts';
import { playbookHarness, replaceLedger } from '../../helpers/playbook-harness.ts';
import { findTarget, type TestProject, testProject } from '../../helpers/test-project.ts';

const NAMES = { platform: 'acme', secrets: 'vault', scheduler: 'nomad', mesh: 'consul' } as const;
type TokenKind = keyof typeof NAMES;
const KINDS = Object.keys(NAMES) as TokenKind[];

async function startProject(kind: TokenKind): Promise<TestProject> {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp' });
  await place.configure((config) => {
    const target = findTarget(config, NAMES[kind]);
    // That a service is not registered shows only in a catalog that is seen whole.
    if (kind === 'mesh') target.services = ['web', 'nobody'];
    config.targets = [target];
  });
  return place;
}

async function askPermissions(place: TestProject, words: readonly string[] = []): Promise<readonly PermissionText[]> {
  const { exit, stdout, stderr } = await place.tidemark(['permissions', '--json', ...words]);
  expect(stderr).toBe('');
  expect(exit).toBe(0);
  return JSON.parse(stdout) as PermissionText[];
}

let policies = 0;

/** Each grant has a policy of its own: a second one of the same name would replace it. */
function toGrant(kind: TokenKind, text: string): TokenGrant {
  if (kind !== 'platform') return { rules: { [`tidemark-${policies++}`]: text } };
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return { permissions: lines.map((line) => line.split(/\s/u)[0] ?? '') };
}

/** The rights of a text one by one, with what needs them: a block, a line of the platform. */
function splitRights(kind: TokenKind, text: string): readonly { readonly right: string; readonly neededBy: string }[] {
  const pattern = kind === 'platform' ? /^# (.+)\n(\w.*\n)/gmu : /^# (.+)\n((?:\w+[^{\n]*\{[^}]*\}\n)+)/gmu;
  return [...text.matchAll(pattern)].map(([, neededBy = '', right = '']) => ({ right, neededBy }));
}

interface NeededRight {
  readonly right: string;
  /** The sources that need it. */
  readonly needing: readonly string[];
}

/** Rights that no source needs together are removed together: each takes a pull otherwise. */
function groupRights(
  all: readonly { readonly right: string; readonly neededBy: string }[],
): readonly (readonly NeededRight[])[] {
  const groups: NeededRight[][] = [];
  for (const { right, neededBy } of all) {
    const needing = neededBy.split(', ').filter((name) => !name.includes('-'));
    const group = groups.find((one) => !one.some((other) => other.needing.some((name) => needing.includes(name))));
    if (group) group.push({ right, needing });
    else groups.push([{ right, needing }]);
  }
  return groups;
}

/** The sources that a pull with the token does not complete. */
async function pullWith(place: TestProject, kind: TokenKind, text: string): Promise<readonly string[]> {
  const token = place.sandbox.createToken(kind, toGrant(kind, text));
  await place.configure((config) => {
    config.data = `./data-${token}`; // of a policy that is loaded and not shown, nothing is known
    findTarget(config, NAMES[kind]).token = token;
  });
  const { stdout } = await place.tidemark(['pull', '--json', '--fresh']);
  const { pulls } = JSON.parse(stdout) as { pulls: { source: string; status: string }[] };
  return pulls.filter(({ status }) => status !== 'complete').map(({ source }) => source);
}

describe.each(KINDS)('the rights that permissions prints for %s', (kind) => {
  test('are enough for every source, and each of them is needed', async () => {
    const place = await startProject(kind);
    const [printed] = await askPermissions(place);
    const { text = '' } = printed ?? {};
    expect(await pullWith(place, kind, text)).toEqual([]);
    const all = splitRights(kind, text);
    expect(all.length).toBeGreaterThan(0);
    for (const removed of groupRights(all.filter((one) => one.neededBy !== 'tokens'))) {
      const failed = await pullWith(
        place,
        kind,
        removed.reduce((rest, { right }) => rest.replace(right, ''), text),
      );
      for (const { right, needing } of removed) {
        expect(needing.filter((source) => failed.includes(source)).length, right).toBeGreaterThan(0);
      }
      const needing = removed.flatMap((one) => one.needing);
      expect(failed.filter((source) => !needing.includes(source))).toEqual([]);
    }
  });
});

describe.each([
  ['remove-empty-providers', 'secrets'],
  ['drop-stale-snapshots', 'scheduler'],
  ['reap-dead-agents', 'platform'],
] as const)('the rights for the playbook %s', (playbook, kind) => {
  test('are enough to plan with the token and to apply with the write token, and not with one less', async () => {
    const harness = await playbookHarness({ playbook, flavor: 'hashicorp', updatesTable: false });
    const words = ['--target', NAMES[kind], '--playbook', playbook];
    const [reading, writing] = await askPermissions(harness, words);
    expect(reading?.token).toBe('token');
    expect(writing?.token).toBe('writeToken');
    const use = async (write: string) => {
      const token = harness.sandbox.createToken(kind, toGrant(kind, reading?.text ?? ''));
      const writeToken = harness.sandbox.createToken(kind, toGrant(kind, write));
      await harness.configure((config) => Object.assign(findTarget(config, NAMES[kind]), { token, writeToken }));
    };
    const text = writing?.text ?? '';
    await use(text);
    await harness.plan(['--max-percent', '100']);
    await harness.approve();
    for (const { right } of splitRights(kind, text).filter(({ neededBy }) => neededBy !== 'doctor')) {
      await use(text.replace(right, NO_RIGHT[kind]));
      await harness.apply([], 1);
      await replaceLedger(harness, '');
    }
    await use(text);
    await harness.apply([], 0);
    // A token without the policy `default` may not say what it is unless a policy of its own lets it.
    expect(text.includes('path "auth/token/lookup-self"')).toBe(kind === 'secrets');
  });
});

/** A policy must not be empty. */
const NO_RIGHT = {
  secrets: 'path "other" {\n  capabilities = ["read"]\n}\n',
  scheduler: 'node {\n  policy = "read"\n}\n',
  platform: 'none\n',
};

describe('playbooks', () => {
  test('of other kinds of targets add nothing', async () => {
    const place = await startProject('mesh');
    const texts = await askPermissions(place, ['--playbook', 'reap-dead-agents']);
    expect(texts).toHaveLength(1);
    expect(texts[0]?.text).not.toContain('reap-dead-agents');
  });

  test('that are unknown are errors', async () => {
    const place = await startProject('mesh');
    const { exit, stderr } = await place.tidemark(['permissions', '--playbook', 'reap-dead-agent']);
    expect(exit).toBe(2);
    expect(stderr).toContain('did you mean reap-dead-agents?');
  });
});

test('without --json the output is a file of the service, with comments', async () => {
  const place = await startProject('scheduler');
  const { stdout } = await place.tidemark(['permissions', '--target', 'nomad']);
  expect(stdout).toBe(`# token of nomad (scheduler): nomad acl policy apply tidemark FILE
# no policy grants acl_policies: use a token of type management, or leave it out
# volumes, external_volumes, volume_snapshots
namespace "*" {
  capabilities = ["csi-read-volume"]
}
# external_volumes, volume_snapshots, volumes
plugin {
  policy = "read"
}
# servers, optional: the version of the server
# agent { policy = "read" }
`);
});

describe('with a writeToken', () => {
  const words = ['permissions', '--target', 'nomad', '--playbook', 'drop-stale-snapshots'];

  test('its rights are printed before there is one', async () => {
    const place = await startWriting();
    const { stdout: had } = await place.tidemark([...words, '--token', 'write']);
    await place.configure((config) => {
      delete findTarget(config, 'nomad').writeToken;
    });
    const { stdout: asked } = await place.tidemark([...words, '--token', 'write']);
    expect(asked).toContain('csi-write-volume');
    expect(asked).toBe(had);
  });

  async function startWriting(): Promise<TestProject> {
    const place = await startProject('scheduler');
    await place.configure((config) => {
      findTarget(config, 'nomad').writeToken = place.sandbox.tokens.scheduler.write;
    });
    return place;
  }

  test('two documents are printed, each under its token, with a name and blocks of its own', async () => {
    const place = await startWriting();
    const { stdout } = await place.tidemark(words);
    const documents = stdout.split(/^(?=# (?:token|writeToken)\n)/mu);
    expect(documents.map((text) => text.split('\n', 2))).toEqual([
      ['# token', '# token of nomad (scheduler): nomad acl policy apply tidemark FILE'],
      ['# writeToken', '# writeToken of nomad (scheduler): nomad acl policy apply tidemark-write FILE'],
    ]);
    for (const text of documents) {
      const blocks = [...text.matchAll(/^(\w+(?: "[^"]*")?) \{$/gmu)].map(([, block]) => block);
      expect(blocks).toEqual([...new Set(blocks)]);
    }
  });

  test('--token prints one of them and nothing else', async () => {
    const place = await startWriting();
    const both = await askPermissions(place, words.slice(1));
    for (const [which, token] of [
      ['read', 'token'],
      ['write', 'writeToken'],
    ] as const) {
      const { stdout, stderr } = await place.tidemark([...words, '--token', which]);
      expect([stdout, stderr]).toEqual([both.find((one) => one.token === token)?.text, '']);
    }
    const none = await place.tidemark(['permissions', '--target', 'nomad', '--token', 'write']);
    expect([none.exit, none.stderr]).toEqual([2, expect.stringContaining('no selected target needs a writeToken')]);
  });
});

test('sources that a target does not have need no rights', async () => {
  const place = await startProject('secrets');
  await place.configure((config) => {
    findTarget(config, 'vault').sources = ['mesh_roles'];
  });
  const [printed] = await askPermissions(place);
  expect(printed?.text).toContain('path "consul/roles/+"');
  expect(printed?.text).not.toContain('keymgmt');
});

const all: readonly Operation[] = [
  ...operations.values(),
  listPlugins,
  ...Object.values(tokenOperations),
  ...Object.values(VERSION_QUESTIONS).map(({ operation }) => operation),
];
test.each(['spec', 'hashicorp'] as const)('the permission of every operation is understood, flavor %s', (flavor) => {
  for (const operation of all) {
    const target = createTarget(operation.kind, 'http://127.0.0.1', { flavor });
    const scopes = requiredRights(operation, target).map(({ scope }) => scope);
    expect(scopes, operation.name).not.toContain('other');
  }
});

test('a permission of a plugin in another form, and a source without operations, are named', () => {
  const target = { ...createTarget('scheduler', 'http://127.0.0.1'), services: [] };
  const listNodes = { ...listPlugins, name: 'scheduler.nodes.list', permission: 'node:read' };
  const base = { kind: 'scheduler', extract: async () => {}, checkAccess: async () => undefined } as const;
  const plugin = [
    { ...base, name: 'nodes', operations: [listNodes] },
    { ...base, name: 'jobs' },
  ];
  const [rights] = collectRights(target, plugin, []);
  expect(formatPermissions(rights!).text).toContain('# nodes: add the permission "node:read"');
  expect(formatPermissions(rights!).text).toContain('# unknown: the source jobs does not declare its operations');
});

test.each([
  ['spec', '"csi-list-volume", "csi-read-volume", "csi-write-volume"'],
  ['hashicorp', '"csi-read-volume"'],
] as const)('at a scheduler of flavor %s each right is printed that no other includes there', (flavor, wanted) => {
  const target = createTarget('scheduler', 'http://127.0.0.1:9', { flavor });
  const [needed] = collectRights(target, sources, []);
  expect(formatPermissions(needed!).text).toContain(`namespace "default" {\n  capabilities = [${wanted}]\n}`);
});

describe.each(KINDS)('the sources of %s', (kind) => {
  test('call only the operations that they declare', async () => {
    const place = await startProject(kind);
    const [printed] = await askPermissions(place);
    const target = createTarget(kind, 'http://127.0.0.1', { flavor: 'hashicorp' });
    const createToken = () => place.sandbox.createToken(kind, toGrant(kind, printed?.text ?? ''));
    // Each source is that of a target of its own, whose token tells its requests. A token with policies reads these of itself too.
    const tokens = sources
      .filter((source) => hasSource(target, source))
      .map((source) => ({
        source,
        token: source.name === 'tokens' ? place.sandbox.tokens[kind].read : createToken(),
      }));
    await place.configure((config) => {
      const service = findTarget(config, NAMES[kind]);
      config.targets = tokens.map(({ source: { name }, token }) => ({ ...service, name, token, sources: [name] }));
    });
    place.sandbox.log.length = 0;
    await place.pull();
    const callers = new Set<string>();
    const undeclared = place.sandbox.log.filter(({ method, path, headers }) => {
      const caller = tokens.find(({ token }) => Object.values(headers).some((value) => value.includes(token)));
      if (caller) callers.add(caller.source.name);
      // Who answers is asked for each target. A token that may not ask is none the worse.
      const asked = [...(caller?.source.operations ?? []), IDENTITY_QUESTIONS[kind]?.operation];
      const patterns = asked.filter((operation) => operation !== undefined).map(toPattern);
      return !patterns.some((one) => one.method === method && one.path.test(decodeURIComponent(path)));
    });
    expect(undeclared.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    expect([...callers].sort()).toEqual(tokens.map(({ source }) => source.name).sort());
  });
});

function toPattern({ method, path }: Operation) {
  const text = path
    .replace(/\?.*/u, '')
    .replace(/^\/mesh\//u, '/consul/')
    .replaceAll(/\{[^}]+\}/gu, '.+');
  return { method, path: new RegExp(`^/(?:v1|api/v2)${text}$`, 'u') };
}
