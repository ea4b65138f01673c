import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadPolicy, readPolicy } from '../../src/config/policy.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { findImpossible } from '../../src/tell/findings/check-policy.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

async function load(text: string) {
  const folder = await tempFolder();
  await mkdir(join(folder, 'policy'));
  await writeFile(join(folder, 'policy', 'versions.yaml'), text);
  return loadPolicy(folder);
}

test('a folder without a policy has no statements', async () => {
  expect(loadPolicy(await tempFolder())).toEqual([]);
});

test.each(['policy', join('policy', 'versions.yaml')])('a link that leads nowhere is no absence: %s', async (name) => {
  const folder = await tempFolder();
  if (name !== 'policy') await mkdir(join(folder, 'policy'));
  await symlink(join(folder, 'not-mounted'), join(folder, name));
  expect(() => loadPolicy(folder)).toThrow(`${join(folder, name)} is a link to what does not exist`);
});

test.each(['', '# tools:\n', 'tools: {}\n'])(
  'a file that says nothing of any version is an error, and no empty policy: %j',
  async (text) => {
    await expect(load(text)).rejects.toMatchObject({
      code: 'CONFIG',
      message: 'versions.yaml says nothing of any version',
    });
  },
);

test('each statement of the policy is an interval of versions', async () => {
  const rows = await load(`
tools:
  terraform:
    minimum: 1.14.0
    recommended: 1.15.4
    reason: the providers of the landing zone need it
    link: https://example.com/why
    denied:
      - { versions: ">= 1.14.0, < 1.14.3", reason: corrupts state, link: "https://example.com/1", until: 2027-01-31 }
      - { versions: 1.15.0-rc1, reason: "not a release: \${HOME}", severity: warning }
providers:
  registry.terraform.io/hashicorp/aws: { minimum: "6.0" }
modules:
  git::https://example.com/vpc.git: { recommended: v2.0.0 }
products:
  vault: { minimum: 1.21.0, severity: info }
`);
  const shared = { kind: 'tool', name: 'terraform' };
  const why = { reason: 'the providers of the landing zone need it', link: 'https://example.com/why' };
  expect(rows).toEqual([
    { ...shared, ...why, says: 'minimum', versions: '1.14.0', below: '1.14.0', severity: 'warning' },
    { ...shared, ...why, says: 'recommended', versions: '1.15.4', below: '1.15.4', severity: 'info' },
    {
      ...{ ...shared, says: 'denied', versions: '>= 1.14.0, < 1.14.3', at_least: '1.14.0', below: '1.14.3' },
      ...{ severity: 'critical', reason: 'corrupts state', link: 'https://example.com/1' },
      ends_at: '2027-01-31T00:00:00.000Z',
    },
    {
      ...{ ...shared, says: 'denied', versions: '1.15.0-rc1', at_least: '1.15.0-rc1', at_most: '1.15.0-rc1' },
      ...{ severity: 'warning', reason: `not a release: \${HOME}` },
    },
    {
      ...{ kind: 'provider', name: 'registry.terraform.io/hashicorp/aws', says: 'minimum' },
      ...{ versions: '6.0', below: '6.0', severity: 'warning' },
    },
    {
      ...{ kind: 'module', name: 'git::https://example.com/vpc.git', says: 'recommended' },
      ...{ versions: 'v2.0.0', below: 'v2.0.0', severity: 'info' },
    },
    { kind: 'product', name: 'vault', says: 'minimum', versions: '1.21.0', below: '1.21.0', severity: 'info' },
  ]);
});

test('the example of the package is a policy, and each of its versions can be compared', async () => {
  const rows = readPolicy(join(PACKAGE_ROOT, 'templates', 'versions.yaml'));
  expect(new Set(rows.map(({ kind }) => kind)).size).toBe(4);
  expect(await findImpossible(createSqlFiles([PACKAGE_ROOT]), rows)).toEqual([]);
});

const FULL = 'must be a full source address, such as registry.terraform.io';

test.each([
  [
    'tools:\n  terraform:\n    minimum: 1.10',
    '3: tools.terraform.minimum: must be a version in quotes, such as "1.10"',
  ],
  ['tools:\n  terraform:\n    minimum: latest', '3: tools.terraform.minimum: must be a version such as 1.14.3'],
  ['tools:\n  terrafrom:\n    minimum: 1.10.0', '3: tools.terrafrom: unknown key; did you mean terraform?'],
  [
    'tools:\n  terraform:\n    minimun: 1.10.0\n    recommended: 1.10.0',
    '3: tools.terraform.minimun: unknown key; did you mean minimum?',
  ],
  ['tools:\n  opentofu: {}', '2: tools.opentofu: needs a minimum, a recommended version or a denied range'],
  ['providers:\n  aws: { minimum: 1.0.0 }', `2: providers.aws: ${FULL}/hashicorp/aws`],
  ['providers:\n  hashicorp/aws: { minimum: 1.0.0 }', `2: providers["hashicorp/aws"]: ${FULL}/hashicorp/aws`],
  [
    'providers:\n  ghcr.io/Azure/azapi: { minimum: 1.0.0 }\n  ghcr.io/azure/azapi: { minimum: 2.0.0 }',
    '2: providers: has an address twice: those of providers are the same in any case',
  ],
  ['modules:\n  acme/vpc/aws: { minimum: 1.0.0 }', `2: modules["acme/vpc/aws"]: ${FULL}/terraform-aws-modules/vpc/aws`],
  [
    'products:\n  vault:\n    denied:\n      - { versions: "~> 1.5", reason: x }',
    '4: products.vault.denied[0].versions: must be a version such as 1.5.7, or bounds such as ">= 1.5.0, < 1.5.7"',
  ],
  ['products:\n  vault:\n    denied:\n      - versions: 1.5.7', '4: products.vault.denied[0].reason: is required'],
  [
    'products:\n  vault:\n    denied:\n      - { versions: 1.5.7, reason: x, until: soon }',
    '4: products.vault.denied[0].until: must be a date such as 2027-05-31',
  ],
  [
    'products:\n  vault:\n    denied:\n      - { versions: 1.5.7, reason: x, until: 2027-02-29 }',
    '4: products.vault.denied[0].until: must be a date such as 2027-05-31',
  ],
  [
    'products:\n  vault: { minimum: 1.0.0, link: "javascript:alert(1)" }',
    '2: products.vault.link: must be a URL that begins with https:// or http://',
  ],
  ['tools: [', '1: not valid YAML'],
])('%s is refused with one line that names the field', async (text, line) => {
  await expect(load(text)).rejects.toThrow(`versions.yaml:${line}`);
});
