import type { Failure } from './service-error.ts';

/** What one attempt came to: a value, or a problem with the advice whether another attempt makes sense. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

export interface Problem {
  readonly failure: Failure;
  readonly status?: number | undefined;
  readonly words: string;
  readonly hint?: string | undefined;
  /**
   * `yes`: later it may go well; `few`: an answer of the wrong form, worth two tries more; `no`: it would go the same way.
   */
  readonly again: 'yes' | 'few' | 'no';
  /** Certain that the service did nothing: turned away for its rate, or never connected. */
  readonly unsent: boolean;
  /** The pause that the service asked for. */
  readonly demandedMs?: number | undefined;
}

export function failed(problem: Problem): Outcome<never> {
  return { ok: false, problem };
}
