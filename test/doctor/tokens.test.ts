import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Check } from '../../src/pipeline/doctor/index.ts';
import type { Flavor, Kind, TokenGrant } from '../../src/sandbox/types.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';

const NAMES = { platform: 'acme', secrets: 'vault', scheduler: 'nomad', mesh: 'consul' } as const;
type TokenKind = keyof typeof NAMES;
const KINDS = Object.keys(NAMES) as TokenKind[];

/** Rights to read one source only. */
const RESTRICTED: Readonly<Record<TokenKind, TokenGrant>> = {
  platform: { name: 'pools', permissions: ['manage-agent-pools'] },
  secrets: {
    name: 'roles',
    rules: {
      roles: 'path "consul/roles" { capabilities = ["list"] }\npath "consul/roles/+" { capabilities = ["read"] }',
    },
  },
  scheduler: {
    name: 'volumes',
    rules: { volumes: 'namespace "*" { capabilities = ["csi-list-volume", "csi-read-volume"] }' },
  },
  mesh: { name: 'nothing', rules: { nothing: 'service "other" { policy = "write" }' } },
};

/** The sources of a kind that a restricted token may read. */
const READABLE: Readonly<Record<TokenKind, readonly string[]>> = {
  platform: ['agent_pools', 'agents', 'tokens'],
  secrets: ['mesh_roles', 'tokens'],
  scheduler: ['acl_policies', 'volumes', 'tokens'],
  mesh: ['ca_roots', 'tokens'],
};

interface Asked {
  readonly flavor?: Flavor;
  readonly kind: TokenKind;
  /** A token instead of the sandbox's own; null for none. */
  readonly token?: (place: TestProject) => string | null;
  readonly note?: string;
}

/** The checks of one target, where all others are as the sandbox configures them. */
async function askDoctor({ flavor = 'hashicorp', kind, token, note }: Asked) {
  const place = await testProject({ workspaces: 5, flavor, start: new Date(), warehouse: 'none' });
  const given = token?.(place);
  await place.configure((config) => {
    const target = findTarget(config, NAMES[kind]);
    config.targets = [target];
    delete target.writeToken;
    delete target.managementToken; // the sandbox's note for its own token
    if (note !== undefined) target.managementToken = note;
    if (given === null) delete target.token;
    else if (given !== undefined) target.token = given;
  });
  const { stdout, stderr } = await place.tidemark(['doctor', '--json']);
  expect(stderr).toBe('');
  if (typeof given === 'string') expect(stdout).not.toContain(given);
  const checks = JSON.parse(stdout) as Check[];
  return {
    token: checks.find(({ about, check }) => about === NAMES[kind] && check === 'token'),
    source: (name: string) => checks.find(({ about, check }) => about === NAMES[kind] && check === name),
    checks: checks.filter(({ about }) => about === NAMES[kind]),
  };
}

const issue =
  (kind: Kind, grant: TokenGrant) =>
  ({ sandbox }: TestProject): string =>
    sandbox.createToken(kind, grant);
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

describe.each(KINDS)('doctor at a real product of kind %s', (kind) => {
  test('says who a good token is, and that all sources are permitted', async () => {
    const { token, checks } = await askDoctor({ kind, note: 'reads all policies' });
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toMatch(/sandbox|management/u);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  test('says what a restricted token may do, and names the sources that it may not read', async () => {
    const { token, checks } = await askDoctor({ kind, token: issue(kind, RESTRICTED[kind]) });
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toContain(RESTRICTED[kind].name);
    const sources = checks.filter(({ check }) => /^[a-z_]+$/u.test(check) && !NOT_SOURCES.includes(check));
    expect(sources.filter(({ ok }) => ok).map(({ check }) => check)).toEqual(
      expect.arrayContaining([...READABLE[kind]]),
    );
    expect(sources.filter(({ ok }) => !ok).length).toBeGreaterThan(0);
  });

  test('refuses an expired token in one message', async () => {
    const grant = { ...RESTRICTED[kind], expiresAt: inDays(-1) };
    const { token, checks } = await askDoctor({ kind, token: issue(kind, grant) });
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).toMatch(/refused by every endpoint/u);
    expect(checks.filter(({ ok }) => !ok)).toHaveLength(1);
  });

  test('refuses an unknown token in one message, and never says that it is accepted', async () => {
    const { token, checks } = await askDoctor({ kind, token: () => 'no-such-token-here' });
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).not.toMatch(/accepted/u);
    expect(checks.filter(({ ok }) => !ok)).toHaveLength(1);
  });

  // The platform does not report when a token ends.
  if (kind !== 'platform') {
    test('warns of a token that ends within 14 days', async () => {
      const grant = { ...RESTRICTED[kind], expiresAt: inDays(5.5) };
      const { token } = await askDoctor({ kind, token: issue(kind, grant) });
      expect(token).toMatchObject({ ok: true, warning: true });
      expect(token?.detail).toContain('in 5 days');
    });
  }
});

const NOT_SOURCES = ['token', 'reachable', 'clock', 'sources', 'without'];

describe.each(['scheduler', 'mesh'] as const)('doctor at a real product of kind %s without a token', (kind) => {
  test('says that none is set', async () => {
    const { token } = await askDoctor({ kind, token: () => null });
    expect(token?.detail).toMatch(/^none set/u);
    expect(token?.detail).not.toContain('accepted');
  });
});

test.each(['platform', 'secrets'] as const)('a target of kind %s needs a token in the configuration', async (kind) => {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp' });
  await place.configure((config) => delete findTarget(config, NAMES[kind]).token);
  const { exit, stderr } = await place.tidemark(['doctor']);
  expect(exit).toBe(2);
  expect(stderr).toContain(`token: is required for kind ${kind}`);
});

describe('a management token', () => {
  test('is a warning without a note', async () => {
    const token = issue('scheduler', { isManagement: true, name: 'boss' });
    const { token: check } = await askDoctor({ kind: 'scheduler', token });
    expect(check).toMatchObject({ ok: true, warning: true });
    expect(check?.detail).toMatch(/boss.*may do everything.*managementToken/u);
  });

  test('is no warning with one', async () => {
    const token = issue('scheduler', { isManagement: true, name: 'boss' });
    const { token: check } = await askDoctor({
      kind: 'scheduler',
      token,
      note: 'Nomad lists all policies to no other',
    });
    expect(check?.warning).toBeUndefined();
  });
});

describe.each(KINDS)('doctor at a documented service of kind %s', (kind) => {
  test('says by how many sources a good token is accepted', async () => {
    const { token } = await askDoctor({ flavor: 'spec', kind });
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toMatch(/^accepted by (\d+) of \1 sources; the service does not say who it is/u);
  });

  test('refuses a token that every endpoint refuses', async () => {
    const { token } = await askDoctor({ flavor: 'spec', kind, token: () => 'no-such-token-here' });
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).toMatch(/refused by every endpoint/u);
  });
});

test('the autoscaler takes no token, so none is checked', async () => {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp' });
  const { stdout } = await place.tidemark(['doctor', '--json']);
  const checks = JSON.parse(stdout) as Check[];
  expect(checks.filter(({ about, check }) => about === 'scaler' && check === 'token')).toEqual([]);
});

test('the write token is described, too', async () => {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp', start: new Date() });
  await place.configure((config) => {
    findTarget(config, 'nomad').writeToken = 'no-such-token-here';
  });
  const { stdout } = await place.tidemark(['doctor', '--json']);
  const checks = (JSON.parse(stdout) as Check[]).filter(({ check }) => check === 'write token');
  expect(checks.find(({ about }) => about === 'nomad')).toMatchObject({
    ok: false,
    detail: 'refused: Permission denied',
  });
  expect(checks.find(({ about }) => about === 'consul')?.detail).toMatch(/management.*may do everything/u);
});
