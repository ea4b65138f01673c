import type { Flavor } from '../types.ts';

export interface JobAcl {
  readonly Namespace?: string;
  readonly JobID?: string;
  readonly Group?: string;
  readonly Task?: string;
}

export interface Policy {
  readonly name: string;
  description: string;
  rules: string;
  jobAcl: JobAcl | null;
  readonly createIndex: number;
  modifyIndex: number;
}

export type Capability = 'CREATE_DELETE_VOLUME' | 'LIST_VOLUMES' | 'CREATE_DELETE_SNAPSHOT' | 'LIST_SNAPSHOTS';

/** A volume as the storage provider knows it. */
export interface ExternalVolume {
  readonly id: string;
  capacityBytes: bigint;
  snapshotId: string;
  abnormal: boolean;
  /** The provider's words; empty when normal. */
  status: string;
}

export interface Snapshot {
  readonly id: string;
  /** External ID of the volume it was taken of, which may be gone. */
  readonly sourceId: string;
  readonly sizeBytes: bigint;
  readonly createdAt: Date;
  ready: boolean;
  readonly parameters: Readonly<Record<string, string>> | null;
}

export interface Plugin {
  readonly id: string;
  readonly provider: string;
  readonly version: string;
  readonly capabilities: readonly Capability[];
  /** Whether a snapshot is ready only the night after it was taken. */
  readonly slowSnapshots: boolean;
  externals: Map<string, ExternalVolume>;
  snapshots: Map<string, Snapshot>;
}

export interface Capabilities {
  readonly AccessMode: string;
  readonly AttachmentMode: string;
}

export interface Claim {
  readonly allocationId: string;
  readonly mode: 'read' | 'write';
}

export interface Volume {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly externalId: string;
  readonly pluginId: string;
  readonly topologies: readonly Readonly<Record<string, string>>[];
  readonly capabilities: readonly Capabilities[];
  schedulable: boolean;
  controllersHealthy: number;
  controllersExpected: number;
  nodesHealthy: number;
  nodesExpected: number;
  exhaustedAt: Date | null;
  claims: Claim[];
  /** Planted in one volume: a server that leaks. */
  secrets: Readonly<Record<string, string>> | null;
  /** On which night of a round (`BACKUP_NIGHTS`) its snapshot is taken; null when nobody backs it up. */
  backupSlot: number | null;
  readonly createIndex: number;
  modifyIndex: number;
}

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

export interface SchedulerState {
  /** The last Raft index. */
  index: number;
  nodes: readonly string[];
  policies: Map<string, Policy>;
  plugins: Map<string, Plugin>;
  /** By `volumeKey`. */
  volumes: Map<string, Volume>;
  allocations: Map<string, Allocation>;
}

/** What the routes and the nights work on. */
export interface SchedulerWorld {
  readonly seed: number;
  readonly flavor: Flavor;
  readonly state: SchedulerState;
}

export function volumeKey(namespace: string, id: string): string {
  return JSON.stringify([namespace, id]);
}

export function nextIndex(state: SchedulerState): number {
  state.index += 1;
  return state.index;
}

/** Whether the allocation has ended for good; one that the servers no longer know counts as neither. */
export function isTerminal(allocation: Allocation | undefined): boolean {
  return allocation !== undefined && ['complete', 'failed', 'lost'].includes(allocation.clientStatus);
}

export function isRunning(allocation: Allocation | undefined): boolean {
  return allocation !== undefined && !isTerminal(allocation);
}
