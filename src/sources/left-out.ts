import type { Target } from '../config/config.ts';
import { sources as builtInSources } from './index.ts';
import { fitsTarget, hasSource } from './source.ts';

/** The sources that the configuration leaves out. */
export interface LeftOut {
  /** Built-in sources that no target has. */
  readonly sources: ReadonlySet<string>;
  /** What single targets leave out by `sources` or `without`. */
  readonly pairs: readonly { readonly target: string; readonly source: string }[];
}

export function findLeftOut(targets: readonly Target[]): LeftOut {
  const absent = builtInSources.filter((source) => !targets.some((target) => hasSource(target, source)));
  const pairs = targets.flatMap((target) =>
    builtInSources
      .filter((source) => fitsTarget(source, target) && !hasSource(target, source))
      .map(({ name }) => ({ target: target.name, source: name })),
  );
  return { sources: new Set(absent.map(({ name }) => name)), pairs };
}

/** Whether all of these sources are left out, so that what is made from them is not shown. */
export function isAbsent(sources: readonly string[], leftOut: LeftOut | undefined): boolean {
  return leftOut !== undefined && sources.length > 0 && sources.every((source) => leftOut.sources.has(source));
}
