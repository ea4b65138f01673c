import { describe, expect, it } from 'vitest';
import { createTargets } from '../../src/config/config.ts';
import { LINK_KINDS } from '../../src/config/links.ts';
import { createProductLinker, type SubjectRef } from '../../src/tell/reports/links.ts';

const PLATFORM = {
  name: 'acme',
  kind: 'platform',
  url: 'https://app.terraform.io',
  organization: 'acme',
  token: 't',
};
const TARGETS = [
  PLATFORM,
  { name: 'vault', kind: 'secrets', url: 'https://vault.internal:8200', token: 't' },
  { name: 'nomad', kind: 'scheduler', url: 'https://nomad.internal:4646/v1' },
  { name: 'scaler', kind: 'autoscaler', url: 'https://scaler.internal:8080' },
  { name: 'consul', kind: 'mesh', url: 'https://consul.internal:8501', services: ['web'] },
  { name: 'registry', kind: 'registry', url: 'https://registry.internal' },
];

/** The link of a subject of the target `acme`, with other properties of the target. */
function link(subject: Partial<SubjectRef>, more: object = {}): string | undefined {
  const linker = createProductLinker(createTargets([{ ...PLATFORM, ...more }]));
  return linker({ target: 'acme', type: 'workspace', id: 'ws-1', name: 'api', ...subject });
}

describe('the default link', () => {
  const linker = createProductLinker(createTargets(TARGETS));
  it.each<[string, SubjectRef, string | undefined]>([
    ['workspace', ref('acme', 'ws-1', 'api'), 'https://app.terraform.io/app/acme/workspaces/api'],
    ['project', ref('acme', 'prj-1', 'core'), 'https://app.terraform.io/app/acme/projects/prj-1'],
    [
      'run',
      ref('acme', 'run-1', null, { workspace_name: 'api' }),
      'https://app.terraform.io/app/acme/workspaces/api/runs/run-1',
    ],
    ['agent pool', ref('acme', 'apool-1', 'eu'), 'https://app.terraform.io/app/acme/settings/agents/apool-1'],
    [
      'agent',
      ref('acme', 'agent-1', null, { pool_id: 'apool-1' }),
      'https://app.terraform.io/app/acme/settings/agents/apool-1',
    ],
    ['saved view', ref('acme', 'sq-1', 'drift'), undefined],
    ['key', ref('vault', 'db', 'db'), 'https://vault.internal:8200/ui/vault/secrets/keymgmt/show/db?itemType=key'],
    [
      'KMS provider',
      ref('vault', 'aws', 'aws'),
      'https://vault.internal:8200/ui/vault/secrets/keymgmt/show/aws?itemType=provider',
    ],
    ['mesh role', ref('vault', 'ops', 'ops'), undefined],
    ['ACL policy', ref('nomad', 'anonymous', null), 'https://nomad.internal:4646/ui/administration/policies/anonymous'],
    ['volume', ref('nomad', 'prod/db', 'database'), 'https://nomad.internal:4646/ui/csi/volumes/db@prod'],
    ['volume', ref('nomad', 'db', 'database'), 'https://nomad.internal:4646/ui/csi/volumes/db@default'],
    ['external volume', ref('nomad', 'ebs/vol-1', 'vol-1'), 'https://nomad.internal:4646/ui/csi/plugins/ebs'],
    ['snapshot', ref('nomad', 'ebs/snap-1', 'snap-1'), 'https://nomad.internal:4646/ui/csi/plugins/ebs'],
    ['snapshot', ref('nomad', 'snap-1', 'snap-1'), undefined],
    ['autoscaler', ref('scaler', 'scaler', 'scaler'), undefined],
    ['CA root', ref('consul', 'root-1', 'root'), undefined],
    [
      'leaf certificate',
      ref('consul', 'web', 'web', { service_uri: 'spiffe://x.consul/ns/default/dc/eu1/svc/web' }),
      'https://consul.internal:8501/ui/eu1/services/web',
    ],
    ['leaf certificate', ref('consul', 'web', 'web'), undefined],
    ['token', ref('vault', 'vault', 'vault'), undefined],
    ['workspace', ref('gone', 'ws-1', 'api'), undefined],
  ])('of a %s', (type, subject, expected) => {
    expect(linker({ ...subject, type })).toBe(expected);
  });

  it('of a key in a namespace of Vault names the namespace', () => {
    const [target] = createTargets([{ ...TARGETS[1], namespace: 'team a' }]);
    expect(createProductLinker(target ? [target] : [])({ ...ref('vault', 'db', 'db'), type: 'key' })).toBe(
      'https://vault.internal:8200/ui/vault/secrets/keymgmt/show/db?itemType=key&namespace=team%20a',
    );
  });

  it.each(['http://127.0.0.1:8500', 'http://localhost:8500', 'http://[::1]:8500'])('does not lead to %s', (url) => {
    expect(link({}, { url })).toBeUndefined();
    expect(link({}, { url, links: { ui: 'https://tfe.internal' } })).toBe(
      'https://tfe.internal/app/acme/workspaces/api',
    );
  });
});

function ref(target: string, id: string, name: string | null, fields: SubjectRef['fields'] = {}): SubjectRef {
  return { target, type: '', id, name, fields };
}

describe('a name', () => {
  it.each([
    ['a/b?c#d', 'a%2Fb%3Fc%23d'],
    ['"><script>alert(1)</script>', '%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E'],
    ["'; drop", '%27%3B%20drop'],
    ['müller 数据', 'm%C3%BCller%20%E6%95%B0%E6%8D%AE'],
    ['line\nbreak', 'line%0Abreak'],
    ['{id}', '%7Bid%7D'],
    ['$&', '%24%26'],
    ['half \ud800', 'half%20%EF%BF%BD'],
  ])('%j is percent-encoded', (name, encoded) => {
    const url = link({ name });
    expect(url).toBe(`https://app.terraform.io/app/acme/workspaces/${encoded}`);
    expect(new URL(url ?? '').href).toBe(url);
  });

  it.each(['.', '..', ''])('%j has no link, because it would change the path', (name) => {
    expect(link({ name })).toBeUndefined();
  });

  it('cannot replace a value of the configuration', () => {
    expect(link({ fields: { organization: 'evil' } })).toBe('https://app.terraform.io/app/acme/workspaces/api');
  });
});

describe('`links` of a target', () => {
  it('replaces the template of a type, or removes its link', () => {
    const links = { workspace: 'https://portal.example/{organization}?ws={id}', project: false };
    expect(link({}, { links })).toBe('https://portal.example/acme?ws=ws-1');
    expect(link({ type: 'project' }, { links })).toBeUndefined();
    expect(link({ type: 'agent pool', id: 'apool-1' }, { links })).toContain('/settings/agents/apool-1');
  });

  it('is off with false', () => {
    expect(link({}, { links: false })).toBeUndefined();
  });

  it('may use a column of the subject', () => {
    const links = { workspace: 'https://portal.example/{project_name}/{name}' };
    expect(link({ fields: { project_name: 'core' } }, { links })).toBe('https://portal.example/core/api');
    expect(link({}, { links })).toBeUndefined();
  });

  it.each([
    [{ workspace: 'javascript:alert(1)' }, 'links.workspace must be a URL that begins with https:// or http://'],
    [{ workspace: 'https://user:pw@host/' }, 'links.workspace must be a URL'],
    [{ workspace: 'https://{name}.example/' }, 'links.workspace must be a URL'],
    [{ workspace: 'https://host{name}/' }, 'links.workspace must be a URL'],
    [{ workspace: 'https://host:{name}/' }, 'links.workspace must be a URL'],
    [{ workspace: '/app/{name}' }, 'links.workspace must be a URL'],
    [
      { workspace: 'https://host/{nmae}' },
      'links.workspace has the unknown field {nmae}; it may use {organization}, {name}',
    ],
    [{ workspace: 'https://host/{__proto__}' }, 'links.workspace has the unknown field {__proto__}'],
    [{ workspace: 'https://host/{name' }, 'links.workspace has a brace without its counterpart'],
    [{ workspce: 'https://host/' }, 'links.workspce unknown key for kind platform; did you mean workspace?'],
    [{ key: 'https://host/' }, 'links.key unknown key for kind platform'],
    [{ ui: 'ftp://host' }, 'links.ui must be a URL'],
    [{ ui: false }, 'links.ui must be a URL'],
    [{ workspace: 5 }, 'links'],
    ['no', 'links must be `false`, or `ui` and URL templates'],
  ])('%j is an error', (links, message) => {
    expect(() => createTargets([{ ...PLATFORM, links }])).toThrow(message);
  });
});

it('every type of subject with a link has a default template that is valid', () => {
  for (const [kind, kinds] of Object.entries(LINK_KINDS)) {
    const base = TARGETS.find((target) => target.kind === kind);
    const own = Object.entries(kinds).flatMap(([key, { path }]) => (path ? [[key, `https://host${path}`]] : []));
    expect(() => createTargets([{ ...base, links: Object.fromEntries(own) }])).not.toThrow();
  }
});
