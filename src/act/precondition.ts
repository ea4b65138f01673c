/**
 * Whether an action applies to what was read. `ready`: the subject is as planned. `satisfied`: it is already as the action would
 * leave it. `drifted`: it is neither, so the action is skipped. `unknown`: the reading does not tell, so the action stays pending.
 */
export type Precondition =
  | { readonly state: 'ready' }
  | { readonly state: 'satisfied' | 'drifted' | 'unknown'; readonly reason: string };

export const ready: Precondition = { state: 'ready' };

/** `reason` is a clause in lower case, such as `the agent is gone`. */
export const satisfied = (reason: string): Precondition => ({ state: 'satisfied', reason });

/** `reason` is a clause in lower case, such as `its status is busy`. */
export const drifted = (reason: string): Precondition => ({ state: 'drifted', reason });

/** `reason` is a clause in lower case, such as `its agents are not reported`. */
export const unknown = (reason: string): Precondition => ({ state: 'unknown', reason });
