import { z } from 'zod';
import { inPath, inQuery, operation } from './operation.ts';

/** The 3 operations of the agent-local mesh endpoints. */

const read = { kind: 'mesh', method: 'GET', changes: false, repeat: 'read', reversible: true } as const;
const endpoints = 'scheduler-autoscaler-mesh.md, Endpoints, Agent-local mesh';
const filled = z.string('is required').min(1, 'must not be empty');

const authorize = z.looseObject({
  Target: filled,
  ClientCertURI: filled,
  ClientCertSerial: filled,
  Namespace: z.string('must be text').optional(),
});

export const mesh = {
  connect: {
    authorize: operation({
      ...read,
      method: 'POST',
      name: 'mesh.connect.authorize',
      path: '/agent/connect/authorize',
      about: 'decides whether a client may connect to a service; a denial is an answer',
      params: {},
      body: {
        schema: authorize,
        required: true,
        example: '{"Target": "db", "ClientCertURI": "spiffe://…/svc/web", "ClientCertSerial": "04:00:0f"}',
      },
      answers: 'object',
      permission: 'service:write',
      rule: `${endpoints}: Authorize; rules 1 and 2`,
    }),
  },
  'ca-roots': {
    read: operation({
      ...read,
      name: 'mesh.ca-roots.read',
      path: '/agent/connect/ca/roots',
      about: 'reads the trusted CA roots',
      params: {},
      answers: 'object',
      items: 'Roots',
      permission: 'none',
      rule: `${endpoints}: CA roots; rule 5`,
    }),
  },
  'ca-leaf': {
    read: operation({
      ...read,
      name: 'mesh.ca-leaf.read',
      path: '/agent/connect/ca/leaf/{service}',
      about: 'reads the leaf certificate of a service, with its private key',
      params: { service: inPath('name of the service'), ns: inQuery('namespace (enterprise only)') },
      answers: 'object',
      permission: 'service:write',
      rule: `${endpoints}: Leaf certificate; rules 2 to 4`,
    }),
  },
} as const;
