import { describe, expect, it } from 'vitest';
import { operations } from '../../src/services/index.ts';
import { formatOperationHelp } from '../../src/services/operation-docs.ts';
import { findPermission } from '../../src/services/permission.ts';
import {
  autoscalerEndpoints,
  meshEndpoints,
  platformEndpoints,
  queryParameters,
  registryEndpoints,
  schedulerEndpoints,
  secretsEndpoints,
} from './endpoints.ts';

const all = [...operations.values()];
const declared = (kind: string) =>
  all
    .filter((operation) => operation.kind === kind)
    .map(({ method, path }) => `${method} ${path.replaceAll(/\{([^}]+)\}/gu, ':$1')}`)
    .sort();

describe('the API documents and the declarations', () => {
  it.each([
    ['platform', platformEndpoints],
    ['secrets', secretsEndpoints],
    ['autoscaler', autoscalerEndpoints],
    ['scheduler', schedulerEndpoints],
    ['mesh', meshEndpoints],
    ['registry', registryEndpoints],
  ] as const)('every endpoint of %s has its operation, and no operation is without one', (kind, endpoints) => {
    expect(declared(kind)).toEqual([...endpoints].sort());
  });

  it('no two kinds have a resource of the same name: a client has the resources of all kinds as its members', () => {
    const kinds = new Map<string, string>();
    for (const { name } of all) {
      const [kind = '', resource = ''] = name.split('.');
      expect(kinds.get(resource) ?? kind, `${name}: give the resource another name`).toBe(kind);
      kinds.set(resource, kind);
    }
  });

  it.each(Object.entries(queryParameters))('%s takes the query parameters of its document', (name, parameters) => {
    const params = Object.entries(operations.get(name)?.params ?? {}).filter(([, param]) => param.in === 'query');
    for (const parameter of parameters) {
      const [, param] = params.find(([known]) => known === parameter.replace('*', '')) ?? [];
      expect(param, parameter).toBeDefined();
      if (parameter.endsWith('*')) expect(param?.required).not.toBe(false);
    }
  });

  it('every path parameter is declared, and nothing is declared that the path lacks', () => {
    for (const { name, path, params } of all) {
      const inPath = [...path.matchAll(/\{([^}]+)\}/gu)]
        .map(([, param]) => param)
        .filter((p) => p !== 'organization_name');
      const given = Object.entries(params).flatMap(([param, { in: place }]) => (place === 'path' ? [param] : []));
      expect(given.sort(), name).toEqual(inPath.sort());
    }
  });
});

describe('retries and reversibility', () => {
  const named = (pick: (operation: (typeof all)[number]) => boolean) => all.filter(pick).map(({ name }) => name);

  it('operations that repeat their effect are never retried', () => {
    expect(named(({ retryPolicy }) => retryPolicy === 'never')).toEqual([
      'platform.agent-pools.create',
      'platform.views.create',
      'secrets.keys.create',
      'secrets.keys.rotate',
      'secrets.kms-keys.distribute',
      'secrets.mesh-creds.generate',
      'scheduler.volumes.create',
      'scheduler.volumes.delete',
      'scheduler.snapshots.create',
      'scheduler.snapshots.delete',
    ]);
  });

  it('exactly the operations without mutation are safe to retry', () => {
    for (const { name, mutates, retryPolicy } of all) expect(retryPolicy === 'safe', name).toBe(!mutates);
  });

  it('what no operation restores is irreversible', () => {
    expect(named(({ reversible }) => !reversible).toSorted()).toEqual([
      'platform.agent-pools.delete',
      'platform.agents.delete',
      'platform.views.delete',
      'scheduler.snapshots.delete',
      'scheduler.volumes.delete',
      'scheduler.volumes.deregister',
      'scheduler.volumes.detach',
      'secrets.keys.delete',
      'secrets.keys.rotate',
      'secrets.kms-keys.remove',
      'secrets.kms.delete',
    ]);
  });

  it('creating a mesh token is a mutation although it is a GET; checking an authorization is not', () => {
    expect(operations.get('secrets.mesh-creds.generate')).toMatchObject({ method: 'GET', mutates: true });
    expect(operations.get('mesh.connect.authorize')).toMatchObject({ method: 'POST', mutates: false });
  });
});

describe('generated texts', () => {
  it('shells complete each operation (npx vitest -u writes the file)', async () => {
    const lines = all.map(({ name, description }) => `${name}\t${description}\n`);
    await expect(lines.join('')).toMatchFileSnapshot('../../templates/completion/operations.tsv');
  });

  it('help names every parameter, the permission and the documentation', () => {
    for (const operation of all) {
      const help = formatOperationHelp(operation);
      for (const text of [...Object.keys(operation.params), findPermission(operation).text, operation.docsUrl]) {
        expect(help).toContain(text);
      }
    }
  });
});
