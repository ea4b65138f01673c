import { HOSTILE_TEXTS, type Random, words } from '../random.ts';
import {
  ANONYMOUS_READ,
  ANONYMOUS_WRITE,
  ANONYMOUS_WRITE_JSON,
  GIB,
  type PolicyPlan,
  readNamespace,
  type SchedulerEstate,
  type VolumePlan,
  type VolumeUse,
} from './estate.ts';
import { CEPH, EBS, HEX, NFS } from './plugins.ts';

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
  { id: 'stopped-wiki', plugin: HEX, use: 'app', backup: 'stopped' },
  { id: 'unready-search', plugin: CEPH, use: 'app', backup: 'unready' },
  { id: 'unschedulable-ml', namespace: 'prod', plugin: EBS, use: 'idle', backup: 'regular', unschedulable: true },
  { id: 'exhausted-spool', plugin: HEX, use: 'app', backup: 'regular', exhausted: true },
  { id: 'abnormal-archive', plugin: EBS, use: 'readers', backup: 'regular', abnormal: HOSTILE_TEXTS[2]! },
  { id: 'nfs-home', plugin: NFS, use: 'readers', backup: 'none' },
  { id: 'nfs-scratch', namespace: BATCH, plugin: NFS, use: 'app', backup: 'none' },
  { id: `vol "quoted", ünï & <b>`, name: HOSTILE_TEXTS[1]!, plugin: CEPH, use: 'app', backup: 'regular' },
  { id: `=1+cmd|' calc'!A0`, name: HOSTILE_TEXTS[3]!, namespace: BATCH, plugin: EBS, use: 'app', backup: 'regular' },
  { id: '資料-🌊', name: HOSTILE_TEXTS[4]!, plugin: HEX, use: 'readers', backup: 'regular' },
  { id: `long-${'x'.repeat(200)}`, name: HOSTILE_TEXTS[7]!, plugin: EBS, use: 'idle', backup: 'regular' },
];

const APPS = words(`
  kafka mysql grafana redis minio gitea etcd loki nexus mongo rabbit tempo
`);
const USES: readonly VolumeUse[] = ['app', 'app', 'app', 'readers', 'idle'];

function ordinaryVolumePlan(index: number, random: Random): VolumePlan {
  const id = `${APPS[index % APPS.length]}-data-${Math.floor(index / APPS.length) + 1}`;
  const namespace = random.pick(['default', 'default', 'prod', BATCH]);
  return { id, namespace, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

const POLICY_PLANS: readonly PolicyPlan[] = [
  ['anonymous', 'Allow read-only access for anonymous requests', ANONYMOUS_WRITE],
  ['ci-deploy', 'Submits jobs from the pipeline', 'namespace "*" {\n  capabilities = ["submit-job", "read-job"]\n}\n'],
  [
    'csi-operator',
    HOSTILE_TEXTS[0]!,
    'namespace "*" {\n  capabilities = ["csi-write-volume"]\n}\nplugin {\n  policy = "read"\n}\n',
  ],
  ['dashboards', HOSTILE_TEXTS[1]!, readNamespace('default')],
  ['on-call', HOSTILE_TEXTS[2]!, 'namespace "*" {\n  policy = "write"\n}\nnode {\n  policy = "write"\n}\n'],
  ['finance', HOSTILE_TEXTS[3]!, readNamespace('finance')],
  ['bahnhof', HOSTILE_TEXTS[4]!, readNamespace('prod')],
  ['no-description', '', readNamespace('batch')],
  [
    'secrets-web',
    'Reads the variables of one task',
    readNamespace('prod'),
    { Namespace: 'prod', JobID: 'web', Group: 'main', Task: 'server' },
  ],
  ['secrets-batch', 'Reads the variables of one job', readNamespace('batch'), { Namespace: 'batch', JobID: 'etl' }],
  ['json-rules', 'Rules in JSON', JSON.stringify({ namespace: { prod: { policy: 'read' } } })],
];

/** A scheduler whose names are hostile wherever an operator could type anything. */
export const HOSTILE_SCHEDULER: SchedulerEstate = {
  volumes: VOLUME_PLANS,
  ordinaryVolume: ordinaryVolumePlan,
  // One capacity is beyond 2^53, as the 64 bits of the field allow.
  capacityBytes: (plan, random) =>
    plan === VOLUME_PLANS[0] ? 9_007_199_254_740_993n : BigInt(random.int(1, 512)) * GIB,
  stoppedBackup: 'stopped-wiki',
  unhealthyVolume: 'unschedulable-ml',
  policies: POLICY_PLANS,
  extraPolicy: (index) => {
    const team = `team-${index + 1}`;
    return [team, `What ${team} may do`, readNamespace(team)];
  },
  anonymousRules: { 0: ANONYMOUS_WRITE, 6: ANONYMOUS_READ, 9: ANONYMOUS_WRITE_JSON },
  rack: 'R "1"',
  leftoverStatus: HOSTILE_TEXTS[0]!,
  impairedStatus: `impaired: ${HOSTILE_TEXTS[0]}`,
  snapshotNote: HOSTILE_TEXTS[0]!,
};
