import { createRandom, type Random } from '../prng.ts';
import type { Allocation, SchedulerWorld } from './state.ts';

const NO_TIME = '0001-01-01T00:00:00Z';

/** Nanoseconds since 1970, beyond 2^53; the last digits are there to be kept. */
export function nanoseconds(date: Date, random: Random): bigint {
  return BigInt(date.getTime()) * 1_000_000n + BigInt(random.int(1, 999_999));
}

function taskEvent(type: string, message: string, at: Date, random: Random, hashicorp: boolean) {
  return {
    Type: type,
    Time: nanoseconds(at, random),
    RestartReason: '',
    SetupError: '',
    DriverError: '',
    Message: message,
    KillError: '',
    KillReason: '',
    DownloadError: '',
    ValidationError: '',
    FailedSibling: '',
    [hashicorp ? 'VaultError' : 'StoreError']: '',
    TaskSignalReason: '',
    TaskSignal: '',
    DriverMessage: type === 'Driver' ? 'Downloading image' : '',
    ExitCode: 0,
    Signal: 0,
    KillTimeout: 0,
    StartDelay: 0,
    DiskLimit: 0,
    FailsTask: false,
  };
}

function taskStates(allocation: Allocation, random: Random, hashicorp: boolean) {
  const running = allocation.clientStatus === 'running';
  const failed = allocation.clientStatus === 'failed';
  const { createdAt, modifiedAt } = allocation;
  const event = (type: string, message: string) => taskEvent(type, message, createdAt, random, hashicorp);
  return {
    server: {
      State: running ? 'running' : 'dead',
      StartedAt: createdAt.toISOString(),
      FinishedAt: running ? NO_TIME : modifiedAt.toISOString(),
      LastRestart: failed ? modifiedAt.toISOString() : NO_TIME,
      Restarts: failed ? 2 : 0,
      Failed: failed,
      Events: [
        event('Received', 'Task received by client'),
        event('Driver', ''),
        event('Started', 'Task started by client'),
      ],
    },
  };
}

/** The allocation object of a volume's read answer; with Nomad's own flavor its stub. */
export function allocationJson({ seed, flavor }: SchedulerWorld, allocation: Allocation) {
  const random = createRandom(`${seed}/scheduler/allocation/${allocation.id}`);
  const hashicorp = flavor === 'hashicorp';
  const rescheduled = {
    PrevAllocID: allocation.previousAllocation,
    PrevNodeID: allocation.nodeId,
    RescheduleTime: nanoseconds(allocation.createdAt, random),
    Delay: '30s',
  };
  return {
    ID: allocation.id,
    EvalID: allocation.evalId,
    Name: allocation.name,
    NodeID: allocation.nodeId,
    ...(hashicorp
      ? { Namespace: allocation.namespace, NodeName: `node-${allocation.nodeId.slice(0, 4)}`, JobType: 'service' }
      : {}),
    PreviousAllocation: allocation.previousAllocation,
    NextAllocation: allocation.nextAllocation,
    RescheduleTracker: allocation.previousAllocation === '' ? null : { Events: [rescheduled] },
    JobID: allocation.jobId,
    TaskGroup: allocation.taskGroup,
    DesiredStatus: allocation.desiredStatus,
    DesiredDescription: allocation.desiredDescription,
    ClientStatus: allocation.clientStatus,
    ClientDescription: allocation.clientDescription,
    TaskStates: taskStates(allocation, random, hashicorp),
    CreateIndex: allocation.createIndex,
    ModifyIndex: allocation.modifyIndex,
    CreateTime: nanoseconds(allocation.createdAt, random),
    ModifyTime: nanoseconds(allocation.modifiedAt, random),
  };
}
