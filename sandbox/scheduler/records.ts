import type { Flavor } from '../types.ts';

/** The records of the scheduler and of its storage plugins. */

export type JobAcl = Readonly<Partial<Record<'Namespace' | 'JobID' | 'Group' | 'Task', string>>>;

export interface Policy {
  readonly name: string;
  description: string;
  rules: string;
  jobAcl: JobAcl | null;
  readonly createIndex: number;
  modifyIndex: number;
}

export type Capability = 'CREATE_DELETE_VOLUME' | 'LIST_VOLUMES' | 'CREATE_DELETE_SNAPSHOT' | 'LIST_SNAPSHOTS';

/** A volume in the storage provider. */
export interface ExternalVolumeRecord {
  readonly id: string;
  capacityBytes: bigint;
  snapshotId: string;
  abnormal: boolean;
  /** The provider's own words; empty when normal. */
  status: string;
}

export interface SnapshotRecord {
  readonly id: string;
  /** External ID of its volume, which may no longer exist. */
  readonly sourceId: string;
  readonly sizeBytes: bigint;
  readonly createdAt: Date;
  ready: boolean;
  readonly parameters: Readonly<Record<string, string>> | null;
  /** The name that the caller gave; the same name again is the same snapshot. */
  readonly name?: string;
}

/** A storage plugin with the volumes and snapshots of its provider. */
export interface StoragePlugin {
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly capabilities: readonly Capability[];
  /** Whether a snapshot is ready only on the day after it was created. */
  readonly hasSlowSnapshots: boolean;
  /** Whether its list of volumes honours `per_page` and names no next page, as the reference driver does. */
  hidesPages: boolean;
  externals: Map<string, ExternalVolumeRecord>;
  snapshots: Map<string, SnapshotRecord>;
}

export type ClaimMode = 'read' | 'write';

export interface Allocation {
  readonly id: string;
  readonly evalId: string;
  readonly jobId: string;
  readonly namespace: string;
  readonly taskGroup: string;
  readonly name: string;
  readonly nodeId: string;
  previousAllocation: string;
  nextAllocation: string;
  desiredStatus: string;
  desiredDescription: string;
  clientStatus: string;
  clientDescription: string;
  readonly createdAt: Date;
  modifiedAt: Date;
  readonly createIndex: number;
  modifyIndex: number;
}

export interface VolumeCapability {
  readonly AccessMode: string;
  readonly AttachmentMode: string;
}

/** What a registration says beside the fields with names of their own, as Nomad returns it. */
export interface VolumeDefinition {
  readonly MountOptions: { readonly FSType: string; readonly MountFlags: readonly string[] } | null;
  readonly Parameters: Readonly<Record<string, string>> | null;
  readonly Context: Readonly<Record<string, string>> | null;
  readonly RequestedTopologies: unknown;
  /** What the storage provider said when the volume was registered: Nomad does not ask it again. */
  readonly Capacity: bigint;
  readonly RequestedCapacityMin: bigint;
  readonly RequestedCapacityMax: bigint;
  readonly CloneID: string;
  readonly SnapshotID: string;
}

export interface VolumeRecord {
  readonly id: string;
  readonly namespace: string;
  claims: { readonly allocationId: string; readonly mode: ClaimMode }[];
  modifyIndex: number;
  readonly name: string;
  readonly externalId: string;
  readonly pluginId: string;
  readonly topologies: readonly Readonly<Record<string, string>>[];
  readonly capabilities: readonly VolumeCapability[];
  schedulable: boolean;
  controllersHealthy: number;
  controllersExpected: number;
  nodesHealthy: number;
  nodesExpected: number;
  exhaustedAt: Date | null;
  /** Planted in one volume: a server that leaks. */
  secrets: Readonly<Record<string, string>> | null;
  /** The day of a backup round (`BACKUP_DAYS`) on which its snapshot is created; null when it has no backups. */
  backupSlot: number | null;
  readonly createIndex: number;
  readonly definition: VolumeDefinition;
}

export const GIB = 1024n ** 3n;

/** `app` has a running writer, `ended` only claims of ended allocations, `ghost` a claim of an unknown allocation. */
export type VolumeUse = 'app' | 'readers' | 'idle' | 'ended' | 'mixed' | 'ghost';
export type BackupPlan = 'regular' | 'none' | 'stopped' | 'unready';

export interface VolumePlan {
  readonly id: string;
  readonly name?: string;
  readonly namespace?: string | undefined;
  readonly plugin: string;
  /** Capacity in GiB; without it a random one. */
  readonly gib?: number | undefined;
  /** Capacity in bytes, where it is no number of GiB. */
  readonly bytes?: string;
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

export type PolicyPlan = readonly [name: string, description: string, rules: string, jobAcl?: JobAcl];

/** The part of an estate's file that is about the scheduler. */
export interface SchedulerEstate {
  /** The IDs of plugins with another ID than their name. */
  readonly plugins: Readonly<Record<Flavor, Readonly<Record<string, string>>>>;
  /** The volumes that the rules are about. */
  readonly volumes: readonly VolumePlan[];
  /** Ordinary applications with a namespace and the usual capacity in GiB. */
  readonly apps: readonly (readonly [app: string, namespace?: string, gib?: number])[];
  /** Those of applications without one. */
  readonly namespaces: readonly string[];
  /** Teams that have policies in a larger estate; without any, numbered ones. */
  readonly teams: readonly string[];
  /** The volume whose backups have stopped. */
  readonly stoppedBackup: string;
  /** The volume whose controllers fail. */
  readonly unhealthyVolume: string;
  readonly policies: readonly PolicyPlan[];
  /** The rules of the policy `anonymous`, by the day of a fortnight on which they change. */
  readonly anonymousRules: Readonly<Record<number, string>>;
  readonly rack: string;
  /** What the provider says about a volume that nobody registered, and about one that is impaired. */
  readonly leftoverStatus: string;
  readonly impairedStatus: string;
  /** The note of a snapshot that somebody made by hand. */
  readonly snapshotNote: string;
}
