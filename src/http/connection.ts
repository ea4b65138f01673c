import type { buildConnector } from 'undici';

/**
 * Hands over a connection that is there in time, or says once why not. undici bounds a direct one itself; one through a proxy has no
 * bound, and where the proxy hangs up without an answer undici tries again for ever.
 */
export function inTime(callback: buildConnector.Callback, connectMs: number): buildConnector.Callback {
  let over = false;
  const timer = setTimeout(
    () => settle(Object.assign(new Error('no connection in time'), { code: 'UND_ERR_CONNECT_TIMEOUT' }), null),
    connectMs,
  );
  const settle: buildConnector.Callback = (...result) => {
    if (over) result[1]?.destroy();
    else callback(...result);
    over = true;
    clearTimeout(timer);
  };
  return (...result) => (result[0] ? settle(final(result[0]), null) : settle(...result));
}

/** undici goes by the code: with this one it takes a connection that was never made for one that was closed. */
function final(error: Error): Error {
  return 'code' in error && error.code === 'UND_ERR_SOCKET' ? new Error('closed', { cause: error }) : error;
}
