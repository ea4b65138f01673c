import type { LimitFunction } from 'p-limit';
import type { Config, Target } from '../config/config.ts';
import type { JobContext } from '../core/context.ts';
import type { RequestMetrics } from '../http/response-body.ts';
import type { ServiceClient } from '../services/client.ts';
import type { ServiceIdentity } from '../services/describe-server.ts';
import type { Warehouse } from '../warehouse/session.ts';
import type { ExtractContext, SourceDefinition } from './sources/source.ts';

/** What every stage of a run needs. */
export interface RunContext extends JobContext {
  readonly config: Config;
  /** The job's name, or `pull`. */
  readonly job: string;
  readonly runId: string;
  /** `valid_from` of what the run changes, later than any before. */
  readonly asOf: Date;
  readonly warehouse: Warehouse;
  /** Runs writes to the warehouse one after another. */
  readonly writes: LimitFunction;
}

export interface Pull {
  readonly target: Target;
  readonly source: SourceDefinition;
}

export interface ActivePull extends Pull {
  readonly metrics: RequestMetrics;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Rows that the service reports; known once the source has landed. */
  expectedRows: number | null;
}

/** `partial`: some parts of the source could not be listed, and the others are loaded. */
export type PullStatus = 'complete' | 'partial' | 'failed' | 'quarantined';

/** Whether a pull with this status has changed the tables. */
export function isLoaded(status: PullStatus): boolean {
  return status === 'complete' || status === 'partial';
}

/** A pull that is extracted, and what it needs to talk to its service. */
export interface Extraction {
  readonly run: RunContext;
  readonly pull: ActivePull;
  readonly client: ServiceClient;
  readonly once: ExtractContext['once'];
  /** What the service says that it is; null where it does not say. @throws ServiceError */
  readonly identify: () => Promise<ServiceIdentity | null>;
  /** Whether objects that are proven unchanged may be taken from the last pull. */
  readonly canReuse: boolean;
}
