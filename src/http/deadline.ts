/** A signal that ends with another one, or when its time is up; the time begins at `start`. */
export interface Deadline {
  readonly signal: AbortSignal;
  start(): void;
  expired(): boolean;
  /** Must be called: it lets go of the other signal and of the timer. */
  end(): void;
}

export function deadline(outer: AbortSignal, timeoutMs: number): Deadline {
  const controller = new AbortController();
  const abort = () => controller.abort(outer.reason);
  let timer: NodeJS.Timeout | undefined;
  let expired = false;
  if (outer.aborted) abort();
  outer.addEventListener('abort', abort);
  return {
    signal: controller.signal,
    start() {
      timer = setTimeout(() => {
        expired = true;
        controller.abort();
      }, timeoutMs);
    },
    expired: () => expired,
    end() {
      clearTimeout(timer);
      outer.removeEventListener('abort', abort);
    },
  };
}
