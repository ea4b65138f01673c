import { DAY_MS, HOUR_MS, uuid } from '../forge.ts';
import type { Random } from '../prng.ts';
import { type Allocation, nextIndex, type SchedulerState, type Volume } from './state.ts';

/** Nomad's words for each end. */
const ENDS: Readonly<Record<string, Pick<Allocation, 'desiredStatus' | 'desiredDescription' | 'clientDescription'>>> = {
  complete: {
    desiredStatus: 'stop',
    desiredDescription: 'alloc not needed due to job update',
    clientDescription: 'All tasks have completed',
  },
  failed: { desiredStatus: 'run', desiredDescription: '', clientDescription: 'Failed tasks' },
  lost: {
    desiredStatus: 'stop',
    desiredDescription: 'alloc is lost since its node is down',
    clientDescription: 'alloc lost since its node is down',
  },
};

/** Starts an allocation that claims the volume. */
export function startAllocation(
  state: SchedulerState,
  random: Random,
  volume: Volume,
  mode: 'read' | 'write',
  at: Date,
): Allocation {
  const jobId = `${volume.id.replaceAll(/[^a-z0-9-]/g, '') || 'job'}-${mode === 'read' ? 'reader' : 'app'}`;
  const index = nextIndex(state);
  const allocation: Allocation = {
    id: uuid(random),
    evalId: uuid(random),
    jobId,
    namespace: volume.namespace,
    taskGroup: 'main',
    name: `${jobId}.main[0]`,
    nodeId: random.pick(state.nodes),
    previousAllocation: '',
    nextAllocation: '',
    desiredStatus: 'run',
    desiredDescription: '',
    clientStatus: 'running',
    clientDescription: 'Tasks are running',
    createdAt: at,
    modifiedAt: new Date(at.getTime() + 31_000),
    createIndex: index,
    modifyIndex: index,
  };
  state.allocations.set(allocation.id, allocation);
  volume.claims.push({ allocationId: allocation.id, mode });
  volume.modifyIndex = index;
  return allocation;
}

export function endAllocation(state: SchedulerState, allocation: Allocation, status: string, at: Date): void {
  Object.assign(allocation, ENDS[status], { clientStatus: status, modifiedAt: at, modifyIndex: nextIndex(state) });
}

/** A moment between one and `days` days before. */
export function someTimeBefore(now: Date, days: number, random: Random): Date {
  return new Date(now.getTime() - DAY_MS - random.int(0, (days - 1) * 24) * HOUR_MS);
}
