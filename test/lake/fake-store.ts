import { onTestFinished } from 'vitest';
import { type Handler, startServer } from '../helpers/http-service.ts';

export const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCY';
export const SESSION = 'session-token-that-is-secret';
export const LAKE = 's3://estate/fleet/lake';

/** A store of objects that answers as a test says, and the environment that names it. */
export async function startStore(handle: Handler) {
  const server = await startServer(handle);
  onTestFinished(server.close);
  const env = {
    AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_SESSION_TOKEN: SESSION,
    AWS_ENDPOINT_URL: server.origin,
  };
  return { env, requests: server.requests };
}
