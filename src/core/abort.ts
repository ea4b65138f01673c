import { setMaxListeners } from 'node:events';

/** A signal that follows others until it is released. */
export type LinkedSignal = Readonly<ReturnType<typeof linkSignals>>;

/**
 * A signal that is aborted with the first of the given ones. `AbortSignal.any` is not used: on Node 20 its sources refer to it
 * weakly, so that a garbage collection may end the link while something still waits for the abort
 * (docs/decisions.md#abort-signals-are-held-strongly). Here the sources refer to it strongly, so it must be released.
 */
// until Node 24: Node 22 still loses such a signal that follows another one
export function linkSignals(...sources: readonly (AbortSignal | undefined)[]) {
  const controller = new AbortController();
  // Every request or query in progress listens to one; Node reports more than ten listeners as a leak.
  setMaxListeners(0, controller.signal, ...sources.flatMap((source) => source ?? []));
  const followed = sources.flatMap((source) =>
    source ? [{ source, follow: () => controller.abort(source.reason) }] : [],
  );
  for (const { source, follow } of followed) {
    if (source.aborted) follow();
    source.addEventListener('abort', follow);
  }
  return {
    signal: controller.signal as AbortSignal, // the inferred type has no name that the declarations of the library could use
    /** Aborts this signal alone. */
    abort: (reason?: unknown) => controller.abort(reason),
    release: () => {
      for (const { source, follow } of followed) source.removeEventListener('abort', follow);
    },
  };
}
