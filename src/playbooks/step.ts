import type { z } from 'zod';
import type { Failure } from '../http/service-error.ts';
import type { Verdict } from './verdict.ts';

/** Values as they stand in plans and in the ledger. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** Where a parameter's value comes from: the fact of that name, or `is`, the same for all. A fact that is null is left out. */
export type ValueFrom = string | { readonly is: string | number | boolean };
export type Parameters = Readonly<Record<string, ValueFrom>>;

/** A reading of the far side: an operation of `tidemark api` that changes nothing. */
export interface Read {
  readonly operation: string;
  readonly params: Parameters;
  /** Follows every page; the answer is then the list of items. */
  readonly whole?: true;
  /** A refusal is an answer too, not only "not there". */
  readonly mayFail?: true;
}

/** What a reading brought: the body, or that the subject is not there (or, with `mayFail`, why it was refused). */
export type Answer =
  | { readonly found: true; readonly value: unknown }
  | { readonly found: false; readonly failure: Failure; readonly words: string };
export type Answers<R extends string = string> = Readonly<Record<R, Answer>>;

/** A deed as a playbook declares it: data and pure functions; the engine does the rest. */
export interface StepDeclaration<F, S extends Json, R extends string> {
  /** The deed: an operation of `tidemark api` that changes something. */
  readonly operation: string;
  readonly params: Parameters;
  readonly body?: (facts: F) => unknown;
  /** What is read just before the deed, and just after. */
  readonly reads: Readonly<Record<R, Read>>;
  /** What of the answers matters, for the ledger's `before` and `after`: small, and without secrets. */
  readonly see: (answers: Answers<R>, facts: F) => S;
  readonly judge: (seen: S, facts: F) => Verdict;
  /** Whether the deed shows afterwards, where `judge` calling it done does not say so. `answer` is the deed's own. */
  readonly achieved?: (seen: S, facts: F, answer: unknown) => boolean;
  /** A reading cannot tell whose deed it was (each call makes one more): an interrupted one is left to a person. */
  readonly unknowable?: true;
}

/** What a reading came to. */
export interface Look {
  readonly seen: Json;
  readonly verdict: Verdict;
  /** Whether the deed that answered so shows in what was seen. */
  readonly shows: (answer: unknown) => boolean;
}

/** A deed as the engine takes it: the types of facts and sight are its own business. */
export interface Step {
  readonly operation: string;
  readonly params: Parameters;
  readonly reads: Readonly<Record<string, Read>>;
  readonly unknowable: boolean;
  readonly hasBody: boolean;
  /** Names of its facts. */
  readonly factNames: readonly string[];
  /** The step's facts out of what a finding tells. @throws ZodError when one is missing. */
  readonly factsOf: (given: unknown) => Readonly<Record<string, unknown>>;
  /** Whether facts are the step's. */
  readonly hasFacts: (given: unknown) => boolean;
  readonly bodyOf: (facts: unknown) => unknown;
  /** @throws ZodError for facts that are not the step's. */
  readonly look: (answers: Answers, facts: unknown) => Look;
}

/** Declares a deed whose facts have the shape of `facts`: every parameter and guard is made from them alone. */
export function step<Shape extends z.ZodRawShape, S extends Json, R extends string>(
  facts: z.ZodObject<Shape>,
  declared: StepDeclaration<z.output<z.ZodObject<Shape>>, S, R>,
): Step {
  const { operation, params, body, reads, see, judge, achieved, unknowable = false } = declared;
  return {
    operation,
    params,
    reads,
    unknowable,
    hasBody: body !== undefined,
    factNames: Object.keys(facts.shape),
    factsOf: (given) => facts.parse(given),
    hasFacts: (given) => facts.safeParse(given).success,
    bodyOf: (given) => body?.(facts.parse(given)),
    look: (answers, given) => {
      const known = facts.parse(given);
      const seen = see(answers as Answers<R>, known);
      const verdict = judge(seen, known);
      const shows = (answer: unknown) => achieved?.(seen, known, answer) ?? verdict.state === 'done';
      return { seen, verdict, shows };
    },
  };
}
