import { HOSTILE_TEXTS } from '../forge.ts';
import type { Random } from '../prng.ts';
import { CEPH, EBS, HEX, NFS } from './storage.ts';

/** Every volume that is backed up gets a snapshot once in so many nights: always within the seven days of the rule. */
export const BACKUP_NIGHTS = 6;

/** `app` has a running writer, `ended` only claims of allocations that ended, `ghost` a claim of one that is forgotten. */
export type Use = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
export type Backup = 'regular' | 'none' | 'stopped' | 'unready';

export interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly plugin: string;
  readonly use: Use;
  readonly backup: Backup;
  readonly missing?: true;
  readonly unschedulable?: true;
  readonly exhausted?: true;
  readonly abnormal?: string;
  readonly leaky?: true;
}

export const STOPPED_BACKUP = 'stopped-wiki';
export const SICK_VOLUME = 'unschedulable-ml';
const BATCH = 'batch-β';

/** The volumes that the rules speak of. */
const PLANS: readonly VolumePlan[] = [
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
  { id: SICK_VOLUME, namespace: 'prod', plugin: EBS, use: 'idle', backup: 'regular', unschedulable: true },
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
const USES: readonly Use[] = ['app', 'app', 'app', 'readers', 'idle'];

function ordinaryPlan(index: number, random: Random): VolumePlan {
  const id = `${APPS[index % APPS.length]}-data-${Math.floor(index / APPS.length) + 1}`;
  const namespace = random.pick(['default', 'default', 'prod', BATCH]);
  return { id, namespace, plugin: random.pick([EBS, HEX, CEPH]), use: random.pick(USES), backup: 'regular' };
}

/** The plans of the first `count` volumes: the special ones, then as many ordinary ones as it takes. */
export function planVolumes(count: number, random: Random): VolumePlan[] {
  return Array.from({ length: count }, (_, slot) => PLANS[slot] ?? ordinaryPlan(slot - PLANS.length, random));
}
