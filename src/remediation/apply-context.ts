import type { Context } from '../core/context.ts';
import type { Ledger } from './ledger.ts';
import type { Plan } from './plan-file.ts';
import type { PublishedReads } from './published-reads.ts';
import type { RemoteServices } from './remote.ts';

/** What an action is applied with. */
export interface ApplyContext {
  readonly plan: Plan;
  readonly remote: RemoteServices;
  readonly ledger: Ledger;
  readonly published: PublishedReads;
  readonly context: Context;
}
