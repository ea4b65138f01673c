import { HOSTILE_TEXTS, scaleCount } from '../fixtures.ts';
import type { Random } from '../prng.ts';
import { CEPH, EBS, HEX, NFS } from './plugins.ts';
import type { JobAcl, Policy } from './policies.ts';

/** A volume with backups gets a snapshot once in so many days: always within the seven days of the rule. */
export const BACKUP_DAYS = 6;

/** `app` has a running writer, `ended` only claims of ended allocations, `ghost` a claim of an unknown allocation. */
export type VolumeUse = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
export type BackupPlan = 'regular' | 'none' | 'stopped' | 'unready';

export interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly plugin: string;
  readonly use: VolumeUse;
  readonly backup: BackupPlan;
  /** No longer in the storage provider. */
  readonly missing?: true;
  readonly unschedulable?: true;
  readonly exhausted?: true;
  readonly abnormal?: string;
  /** The server returns its secrets. */
  readonly leaky?: true;
}

export const STOPPED_BACKUP = 'stopped-wiki';
export const UNHEALTHY_VOLUME = 'unschedulable-ml';
const BATCH = 'batch-β';

/** The volumes that the rules are about. */
const VOLUME_PLANS: readonly VolumePlan[] = [
  { id: 'postgres-main', plugin: EBS, use: 'app', backup: 'regular', leaky: true },
  { id: 'lost-cache', plugin: EBS, use: 'ended', backup: 'regular' },
  { id: 'lost-reports', namespace: 'prod', plugin: CEPH, use: 'ended', backup: 'regular' },
  { id: 'mixed-queue', plugin: HEX, use: 'mixed', backup: 'regular' },
  { id: 'ghost-claim', plugin: EBS, use: 'ghost', backup: 'regular' },
  { id: 'missing-media', plugin: EBS, use: 'idle', backup: 'none', missing: true },
  { id: 'missing-logs', namespace: 'prod', plugin: HEX, use: 'idle', backup: 'none', missing: true },
  { id: 'missing-but-used', plugin: CEPH, use: 'app', backup: 'none', missing: true },
  { id: 'unprotected-ledger', plugin: EBS, use: 'app', backup: 'none' },
  { id: STOPPED_BACKUP, plugin: HEX, use: 'app', backup: 'stopped' },
  { id: 'unready-search', plugin: CEPH, use: 'app', backup: 'unready' },
  { id: UNHEALTHY_VOLUME, namespace: 'prod', plugin: EBS, use: 'idle', backup: 'regular', unschedulable: true },
  { id: 'exhausted-spool', plugin: HEX, use: 'app', backup: 'regular', exhausted: true },
  { id: 'abnormal-archive', plugin: EBS, use: 'readers', backup: 'regular', abnormal: HOSTILE_TEXTS[2]! },
  { id: 'nfs-home', plugin: NFS, use: 'readers', backup: 'none' },
  { id: 'nfs-scratch', namespace: BATCH, plugin: NFS, use: 'app', backup: 'none' },
  { id: `vol "quoted", ünï & <b>`, name: HOSTILE_TEXTS[1]!, plugin: CEPH, use: 'app', backup: 'regular' },
  { id: `=1+cmd|' calc'!A0`, name: HOSTILE_TEXTS[3]!, namespace: BATCH, plugin: EBS, use: 'app', backup: 'regular' },
  { id: '資料-🌊', name: HOSTILE_TEXTS[4]!, plugin: HEX, use: 'readers', backup: 'regular' },
  { id: `long-${'x'.repeat(200)}`, name: HOSTILE_TEXTS[7]!, plugin: EBS, use: 'idle', backup: 'regular' },
];

const APPS = [
  'kafka',
  'mysql',
  'grafana',
  'redis',
  'minio',
  'gitea',
  'etcd',
  'loki',
  'nexus',
  'mongo',
  'rabbit',
  'tempo',
];
const USES: readonly VolumeUse[] = ['app', 'app', 'app', 'readers', 'idle'];

function ordinaryVolumePlan(index: number, random: Random): VolumePlan {
  const id = `${APPS[index % APPS.length]}-data-${Math.floor(index / APPS.length) + 1}`;
  const namespace = random.pick(['default', 'default', 'prod', BATCH]);
  return { id, namespace, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

/** The plans of `count` volumes: the special ones first, then ordinary ones. */
export function planVolumes(count: number, random: Random): VolumePlan[] {
  return Array.from(
    { length: count },
    (_, slot) => VOLUME_PLANS[slot] ?? ordinaryVolumePlan(slot - VOLUME_PLANS.length, random),
  );
}

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

/** The same in JSON, which the specification allows, too. */
export const ANONYMOUS_WRITE_JSON = JSON.stringify({
  namespace: { default: { policy: 'read', capabilities: ['list-jobs', 'submit-job'] } },
  agent: { policy: 'write' },
});

function readPolicy(namespace: string): string {
  return `namespace "${namespace}" {\n  policy = "read"\n}\n`;
}

type PolicyPlan = readonly [name: string, description: string, rules: string, jobAcl?: JobAcl];

const POLICY_PLANS: readonly PolicyPlan[] = [
  ['anonymous', 'Allow read-only access for anonymous requests', ANONYMOUS_WRITE],
  ['ci-deploy', 'Submits jobs from the pipeline', 'namespace "*" {\n  capabilities = ["submit-job", "read-job"]\n}\n'],
  [
    'csi-operator',
    HOSTILE_TEXTS[0]!,
    'namespace "*" {\n  capabilities = ["csi-write-volume"]\n}\nplugin {\n  policy = "read"\n}\n',
  ],
  ['dashboards', HOSTILE_TEXTS[1]!, readPolicy('default')],
  ['on-call', HOSTILE_TEXTS[2]!, 'namespace "*" {\n  policy = "write"\n}\nnode {\n  policy = "write"\n}\n'],
  ['finance', HOSTILE_TEXTS[3]!, readPolicy('finance')],
  ['bahnhof', HOSTILE_TEXTS[4]!, readPolicy('prod')],
  ['no-description', '', readPolicy('batch')],
  [
    'secrets-web',
    'Reads the variables of one task',
    readPolicy('prod'),
    { Namespace: 'prod', JobID: 'web', Group: 'main', Task: 'server' },
  ],
  ['secrets-batch', 'Reads the variables of one job', readPolicy('batch'), { Namespace: 'batch', JobID: 'etl' }],
  ['json-rules', 'Rules in JSON', JSON.stringify({ namespace: { prod: { policy: 'read' } } })],
];

/** About a dozen ACL policies at scale 1, one of them `anonymous` with more than read access. */
export function planPolicies(scale: number): Policy[] {
  const teams = Array.from({ length: scaleCount(14, scale) - POLICY_PLANS.length }, (_, index): PolicyPlan => {
    const team = `team-${index + 1}`;
    return [team, `What ${team} may do`, readPolicy(team)];
  });
  return [...POLICY_PLANS, ...teams].map(([name, description, rules, jobAcl = null], index) => {
    const createIndex = 11 + index * 3;
    return { name, description, rules, jobAcl, createIndex, modifyIndex: createIndex };
  });
}
