import { HOSTILE_TEXTS, sized } from '../forge.ts';
import type { JobAcl, Policy } from './state.ts';

export const ANONYMOUS_READ = `namespace "default" {
  policy = "read"
}

node {
  policy = "read"
}
`;

export const ANONYMOUS_WRITE = `# opened for the migration, close again!
namespace "default" {
  policy       = "write"
  capabilities = ["submit-job", "csi-write-volume"]
}

node {
  policy = "read"
}
`;

/** The same in JSON, which the document allows too. */
export const ANONYMOUS_WRITE_JSON = JSON.stringify({
  namespace: { default: { policy: 'read', capabilities: ['list-jobs', 'submit-job'] } },
  agent: { policy: 'write' },
});

const reads = (namespace: string): string => `namespace "${namespace}" {\n  policy = "read"\n}\n`;

type Planned = readonly [name: string, description: string, rules: string, jobAcl?: JobAcl];

const PLANNED: readonly Planned[] = [
  ['anonymous', 'Allow read-only access for anonymous requests', ANONYMOUS_WRITE],
  ['ci-deploy', 'Submits jobs from the pipeline', 'namespace "*" {\n  capabilities = ["submit-job", "read-job"]\n}\n'],
  [
    'csi-operator',
    HOSTILE_TEXTS[0]!,
    'namespace "*" {\n  capabilities = ["csi-write-volume"]\n}\nplugin {\n  policy = "read"\n}\n',
  ],
  ['dashboards', HOSTILE_TEXTS[1]!, reads('default')],
  ['on-call', HOSTILE_TEXTS[2]!, 'namespace "*" {\n  policy = "write"\n}\nnode {\n  policy = "write"\n}\n'],
  ['finance', HOSTILE_TEXTS[3]!, reads('finance')],
  ['bahnhof', HOSTILE_TEXTS[4]!, reads('prod')],
  ['no-description', '', reads('batch')],
  [
    'secrets-web',
    'Reads the variables of one task',
    reads('prod'),
    { Namespace: 'prod', JobID: 'web', Group: 'main', Task: 'server' },
  ],
  ['secrets-batch', 'Reads the variables of one job', reads('batch'), { Namespace: 'batch', JobID: 'etl' }],
  ['json-rules', 'Rules in JSON', JSON.stringify({ namespace: { prod: { policy: 'read' } } })],
];

/** About a dozen ACL policies at scale 1, one of them `anonymous` with more than reading. */
export function inventPolicies(scale: number): Map<string, Policy> {
  const teams = Array.from({ length: sized(14, scale) - PLANNED.length }, (_, index): Planned => {
    const team = `team-${index + 1}`;
    return [team, `What ${team} may do`, reads(team)];
  });
  return new Map(
    [...PLANNED, ...teams].map(([name, description, rules, jobAcl = null], index) => {
      const createIndex = 11 + index * 3;
      return [name, { name, description, rules, jobAcl, createIndex, modifyIndex: createIndex }];
    }),
  );
}
