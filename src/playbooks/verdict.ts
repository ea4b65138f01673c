/**
 * What a reading of the subject means for a deed. `due`: it stands as the plan saw it; `done`: it is already as the deed would
 * leave it; `changed`: neither, so the deed is off.
 */
export type Verdict = { readonly state: 'due' } | { readonly state: 'done' | 'changed'; readonly reason: string };

export const due: Verdict = { state: 'due' };

/** `reason` is a clause in lower case, such as `the agent is gone`. */
export const done = (reason: string): Verdict => ({ state: 'done', reason });

export const changed = (reason: string): Verdict => ({ state: 'changed', reason });
