import { describe, expect, test } from 'vitest';
import type { Flavor, TokenGrant } from '../../sandbox/types.ts';
import { DAY_MS } from '../../src/core/clock.ts';
import type { Check } from '../../src/run/doctor/checks.ts';
import { type Cleanup, share } from '../helpers/temp.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

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

const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
const expiresIn = (days: number) => (kind: TokenKind) => ({ ...RESTRICTED[kind], expiresAt: inDays(days) });

interface Asked {
  readonly kinds: readonly TokenKind[];
  /** What the token may do, or the token, instead of the sandbox's own; null for none. */
  readonly token?: string | null | ((kind: TokenKind) => TokenGrant);
  /** The note in the configuration that a management token is intended. */
  readonly note?: string;
}

const UNKNOWN_TOKEN = 'no-such-token-here';
const BOSS: TokenGrant = { isManagement: true, name: 'boss' };

/** What the targets of one configuration differ in, by flavor. */
const CASES = {
  hashicorp: {
    good: { kinds: KINDS, note: 'reads all policies' },
    restricted: { kinds: KINDS, token: (kind) => RESTRICTED[kind] },
    expired: { kinds: KINDS, token: expiresIn(-1) },
    unknown: { kinds: KINDS, token: UNKNOWN_TOKEN },
    ending: { kinds: KINDS, token: expiresIn(15.5) },
    none: { kinds: ['scheduler', 'mesh'], token: null },
    management: { kinds: ['scheduler'], token: () => BOSS },
    intended: { kinds: ['scheduler'], token: () => BOSS, note: 'Nomad lists all policies to no other' },
  },
  spec: { good: { kinds: KINDS }, unknown: { kinds: KINDS, token: UNKNOWN_TOKEN } },
} as const satisfies Record<Flavor, Record<string, Asked>>;

/** The checks of a target for each case, and of a real product's other targets with write tokens and without any. */
async function runDoctor(flavor: Flavor, cleanup: Cleanup): Promise<readonly Check[]> {
  const place = await testProject({ workspaces: 5, flavor, start: new Date(), warehouse: 'none', cleanup });
  const issued: string[] = [];
  await place.configure((config) => {
    const targets = Object.entries<Asked>(CASES[flavor]).flatMap(([name, { kinds, token, note }]) =>
      kinds.map((kind) => {
        const { writeToken: _, managementToken: _note, ...target } = findTarget(config, NAMES[kind]);
        if (token === null) delete target.token;
        else if (token !== undefined) {
          target.token = typeof token === 'string' ? token : place.sandbox.createToken(kind, token(kind));
          issued.push(String(target.token));
        }
        return { ...target, name: `${name}-${kind}`, ...(note !== undefined && { managementToken: note }) };
      }),
    );
    findTarget(config, 'nomad').writeToken = UNKNOWN_TOKEN;
    config.thresholds = { tokenDays: 20 };
    const others = ['nomad', 'consul', 'scaler'].map((name) => findTarget(config, name));
    config.targets = flavor === 'hashicorp' ? [...others, ...targets] : targets;
  });
  const { stdout, stderr } = await place.tidemark(['doctor', '--json']);
  expect(stderr).toBe('');
  for (const token of issued) expect(stdout).not.toContain(token);
  return JSON.parse(stdout) as Check[];
}

const doctors = {
  hashicorp: share((cleanup) => runDoctor('hashicorp', cleanup)),
  spec: share((cleanup) => runDoctor('spec', cleanup)),
};

/** The checks of one target. */
async function askDoctor(about: string, flavor: Flavor = 'hashicorp') {
  const checks = (await doctors[flavor]()).filter((check) => check.about === about);
  expect(checks, about).not.toEqual([]);
  return { token: checks.find(({ check }) => check === 'token'), checks };
}

describe.each(KINDS)('doctor at a real product of kind %s', (kind) => {
  test('says who a good token is, and that all sources are permitted', async () => {
    const { token, checks } = await askDoctor(`good-${kind}`);
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toMatch(/sandbox|management/u);
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
  });

  test('says what a restricted token may do, and names the sources that it may not read', async () => {
    const { token, checks } = await askDoctor(`restricted-${kind}`);
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toContain(RESTRICTED[kind].name);
    const sources = checks.filter(({ check }) => /^[a-z_]+$/u.test(check) && !NOT_SOURCES.includes(check));
    expect(sources.filter(({ ok }) => ok).map(({ check }) => check)).toEqual(
      expect.arrayContaining([...READABLE[kind]]),
    );
    expect(sources.filter(({ ok }) => !ok).length).toBeGreaterThan(0);
  });

  test('refuses an expired token in one message', async () => {
    const { token, checks } = await askDoctor(`expired-${kind}`);
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).toMatch(/refused by every endpoint/u);
    expect(checks.filter(({ ok }) => !ok)).toHaveLength(1);
  });

  test('refuses an unknown token in one message, and never says that it is accepted', async () => {
    const { token, checks } = await askDoctor(`unknown-${kind}`);
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).not.toMatch(/accepted/u);
    expect(checks.filter(({ ok }) => !ok)).toHaveLength(1);
  });

  // The platform does not report when a token ends.
  if (kind !== 'platform') {
    test('warns of a token that ends within `tokenDays`, as the rule does', async () => {
      const { token } = await askDoctor(`ending-${kind}`);
      expect(token).toMatchObject({ ok: true, warning: true });
      expect(token?.detail).toContain('in 15 days');
    });
  }
});

const NOT_SOURCES = ['token', 'reachable', 'clock', 'sources', 'without'];

describe.each(['scheduler', 'mesh'] as const)('doctor at a real product of kind %s without a token', (kind) => {
  test('says that none is set', async () => {
    const { token } = await askDoctor(`none-${kind}`);
    expect(token?.detail).toMatch(/^none set/u);
    expect(token?.detail).not.toContain('accepted');
  });
});

test.each(['platform', 'secrets'] as const)('a target of kind %s needs a token in the configuration', async (kind) => {
  const place = await testProject({ workspaces: 5, flavor: 'hashicorp', warehouse: 'none' });
  await place.configure((config) => delete findTarget(config, NAMES[kind]).token);
  const { exit, stderr } = await place.tidemark(['doctor']);
  expect(exit).toBe(2);
  expect(stderr).toContain(`token: is required for kind ${kind}`);
});

describe('a management token', () => {
  test('is a warning without a note', async () => {
    const { token } = await askDoctor('management-scheduler');
    expect(token).toMatchObject({ ok: true, warning: true });
    expect(token?.detail).toMatch(/boss.*may do everything.*managementToken/u);
  });

  test('is no warning with one', async () => {
    const { token } = await askDoctor('intended-scheduler');
    expect(token?.warning).toBeUndefined();
  });
});

describe.each(KINDS)('doctor at a documented service of kind %s', (kind) => {
  test('says by how many sources a good token is accepted', async () => {
    const { token } = await askDoctor(`good-${kind}`, 'spec');
    expect(token).toMatchObject({ ok: true });
    expect(token?.detail).toMatch(/^accepted by (\d+) of \1 sources; the service does not say who it is/u);
  });

  test('refuses a token that every endpoint refuses', async () => {
    const { token } = await askDoctor(`unknown-${kind}`, 'spec');
    expect(token).toMatchObject({ ok: false });
    expect(token?.detail).toMatch(/refused by every endpoint/u);
  });
});

test('the autoscaler takes no token, so none is checked', async () => {
  expect((await askDoctor('scaler')).token).toBeUndefined();
});

test('the write token is described, too', async () => {
  const writeToken = async (about: string) =>
    (await askDoctor(about)).checks.find(({ check }) => check === 'write token');
  expect(await writeToken('nomad')).toMatchObject({ ok: false, detail: 'refused: Permission denied' });
  expect((await writeToken('consul'))?.detail).toMatch(/management.*may do everything/u);
});
