import { createRandom, type Random, uuid } from '../random.ts';
import type { SchedulerContext, Tick } from './context.ts';
import type { Allocation, ClaimMode, VolumeRecord } from './records.ts';

type TerminalStatus = 'complete' | 'failed' | 'lost';
type TerminalFields = Pick<Allocation, 'desiredStatus' | 'desiredDescription' | 'clientDescription'>;

/** Nomad's descriptions of each terminal status. */
const TERMINAL: Readonly<Record<TerminalStatus, TerminalFields>> = {
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

/** docs/services/scheduler.md#volume-allocations. Allocations have no routes of their own: volumes contain them. */

export function startAllocation(
  { context, random }: Tick,
  volume: VolumeRecord,
  mode: ClaimMode,
  at: Date,
): Allocation {
  const jobId = `${volume.id.replaceAll(/[^a-z0-9-]/g, '') || 'job'}-${mode === 'read' ? 'reader' : 'app'}`;
  const index = context.nextIndex();
  const allocation: Allocation = {
    id: uuid(random),
    evalId: uuid(random),
    jobId,
    namespace: volume.namespace,
    taskGroup: 'main',
    name: `${jobId}.main[0]`,
    nodeId: random.pick(context.nodes),
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
  context.allocations.set(allocation.id, allocation);
  volume.claims.push({ allocationId: allocation.id, mode });
  volume.modifyIndex = index;
  return allocation;
}

export function endAllocation({ context }: Tick, allocation: Allocation, status: TerminalStatus, at: Date): void {
  const modifyIndex = context.nextIndex();
  Object.assign(allocation, TERMINAL[status], { clientStatus: status, modifiedAt: at, modifyIndex });
}

export function isTerminal(context: SchedulerContext, id: string): boolean {
  const status = context.allocations.get(id)?.clientStatus;
  return status !== undefined && Object.hasOwn(TERMINAL, status);
}

export function isRunning(context: SchedulerContext, id: string): boolean {
  return context.allocations.has(id) && !isTerminal(context, id);
}

/** The allocation object in a volume; with Nomad's flavor its stub. */
export function allocationDocument(context: SchedulerContext, allocation: Allocation) {
  const { seed, flavor } = context;
  const random = createRandom(`${seed}/scheduler/allocation/${allocation.id}`);
  const isHashicorp = flavor === 'hashicorp';
  const rescheduled = {
    PrevAllocID: allocation.previousAllocation,
    PrevNodeID: allocation.nodeId,
    RescheduleTime: toNanoseconds(allocation.createdAt, random),
    Delay: '30s',
  };
  return {
    ID: allocation.id,
    EvalID: allocation.evalId,
    Name: allocation.name,
    NodeID: allocation.nodeId,
    ...(isHashicorp ? liveFields(allocation) : { PreviousAllocation: allocation.previousAllocation }),
    NextAllocation: allocation.nextAllocation,
    RescheduleTracker: allocation.previousAllocation === '' ? null : { Events: [rescheduled] },
    JobID: allocation.jobId,
    TaskGroup: allocation.taskGroup,
    DesiredStatus: allocation.desiredStatus,
    DesiredDescription: allocation.desiredDescription,
    ClientStatus: allocation.clientStatus,
    ClientDescription: allocation.clientDescription,
    TaskStates: taskStates(allocation, random, isHashicorp),
    CreateIndex: allocation.createIndex,
    ModifyIndex: allocation.modifyIndex,
    CreateTime: toNanoseconds(allocation.createdAt, random),
    ModifyTime: toNanoseconds(allocation.modifiedAt, random),
  };
}

/** The fields that Nomad's stub of an allocation has beyond the specification. */
function liveFields({ namespace, nodeId }: Allocation) {
  return {
    Namespace: namespace,
    NodeName: `node-${nodeId.slice(0, 4)}`,
    JobType: 'service',
    JobVersion: 0,
    DeploymentStatus: null,
    DesiredTransition: {
      ForceReschedule: null,
      Migrate: null,
      MigrateDisablePlacement: null,
      NoShutdownDelay: null,
      Reschedule: null,
    },
    FollowupEvalID: '',
    PreemptedAllocations: null,
    PreemptedByAllocation: '',
  };
}

/** Nanoseconds since 1970, beyond 2^53: a reader must keep the last digits. */
export function toNanoseconds(date: Date, random: Random): bigint {
  return BigInt(date.getTime()) * 1_000_000n + BigInt(random.int(1, 999_999));
}

/** Go's zero time. */
const NO_TIME = '0001-01-01T00:00:00Z';

function taskStates(allocation: Allocation, random: Random, isHashicorp: boolean) {
  const isRunning = allocation.clientStatus === 'running';
  const isFailed = allocation.clientStatus === 'failed';
  const { createdAt, modifiedAt } = allocation;
  const event = (type: string, message: string) => ({
    Type: type,
    Time: toNanoseconds(createdAt, random),
    RestartReason: '',
    SetupError: '',
    DriverError: '',
    Message: message,
    KillError: '',
    KillReason: '',
    DownloadError: '',
    ValidationError: '',
    FailedSibling: '',
    [isHashicorp ? 'VaultError' : 'StoreError']: '',
    TaskSignalReason: '',
    TaskSignal: '',
    DriverMessage: type === 'Driver' ? 'Downloading image' : '',
    ExitCode: 0,
    Signal: 0,
    KillTimeout: 0,
    StartDelay: 0,
    DiskLimit: 0,
    FailsTask: false,
    ...(isHashicorp ? { Details: {}, DisplayMessage: message, GenericSource: '' } : {}),
  });
  return {
    server: {
      State: isRunning ? 'running' : 'dead',
      StartedAt: createdAt.toISOString(),
      FinishedAt: isRunning ? NO_TIME : modifiedAt.toISOString(),
      LastRestart: isFailed ? modifiedAt.toISOString() : NO_TIME,
      Restarts: isFailed ? 2 : 0,
      Failed: isFailed,
      ...(isHashicorp ? { Paused: '' } : {}),
      Events: [
        event('Received', 'Task received by client'),
        event('Driver', ''),
        event('Started', 'Task started by client'),
      ],
    },
  };
}
