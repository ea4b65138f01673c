/** The one place that waits. Rejects with the signal's reason when it is aborted; `waker` gets a function that ends the wait early. */
export function pause(
  waitMs: number,
  signal: AbortSignal,
  waker: (wake: () => void) => void = () => {},
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const over = (settle: () => void) => () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', stop);
      settle();
    };
    const wake = over(resolve);
    const stop = over(() => reject(signal.reason));
    const timer = setTimeout(wake, waitMs);
    signal.addEventListener('abort', stop);
    waker(wake);
  });
}
