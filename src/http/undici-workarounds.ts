import { AssertionError } from 'node:assert';
import type { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';

/** A pool of connections with two defects of undici 7 corrected: see `deferSocketEnd` and `withConnectTimeout`. */
export function createPatchedPool(connectMs: number, origin: string | URL, options: Pool.Options): Pool {
  const { connect } = options;
  const open = typeof connect === 'function' ? connect : buildConnector({ ...connect });
  return new Pool(origin, {
    ...options,
    connect: (to, callback) =>
      open(
        to,
        withConnectTimeout((...result) => {
          const [, socket] = result;
          if (socket) deferSocketEnd(socket);
          callback(...result);
        }, connectMs),
      ),
  });
}

/**
 * Fails once if no connection is made within `connectMs`. undici bounds a direct connection itself, but not one through a
 * proxy: where the proxy hangs up without a response, undici tries again forever.
 */
function withConnectTimeout(callback: buildConnector.Callback, connectMs: number): buildConnector.Callback {
  let isSettled = false;
  const timer = setTimeout(
    () => settle(Object.assign(new Error('no connection in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), null),
    connectMs,
  );
  const settle: buildConnector.Callback = (...result) => {
    if (isSettled) result[1]?.destroy();
    else callback(...result);
    isSettled = true;
    clearTimeout(timer);
  };
  return (...result) => (result[0] ? settle(asConnectError(result[0]), null) : settle(...result));
}

/** undici takes an error with this code for the end of an open connection, and connects again. */
function asConnectError(error: Error): Error {
  return 'code' in error && error.code === 'UND_ERR_SOCKET' ? new Error('closed', { cause: error }) : error;
}

const RETRY_MS = 5;

/**
 * Delays the end of a connection until its response is read. undici 7 asserts that its parser is not paused when a connection
 * ends, and throws where nothing can catch it: a service that closes while its body is read slowly would end the process
 * (nodejs/undici issue 5360, fixed in 8, which needs a newer Node).
 */
function deferSocketEnd(socket: Socket): void {
  const emit = socket.emit.bind(socket);
  // Otherwise Node destroys the socket after the peer's end, whether or not all was read.
  socket.allowHalfOpen = true;
  const end = (): boolean => {
    if (socket.destroyed) return false;
    try {
      emit('end');
    } catch (error) {
      if (!(error instanceof AssertionError)) throw error;
      setTimeout(end, RETRY_MS);
      return true;
    }
    if (!socket.destroyed) socket.end();
    return true;
  };
  socket.emit = (event: string | symbol, ...args: unknown[]) => (event === 'end' ? end() : emit(event, ...args));
}
