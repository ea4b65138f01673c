import { onTestFinished } from 'vitest';
import type { TargetKind } from '../../src/config/config.ts';
import type { Operation } from '../../src/services/operation.ts';
import { createTarget, createTestClient, type Handler, startServer, type TestServer } from '../helpers/http-service.ts';

/** Attempts of a request whose failures are repeated. */
export const ALL = 4;

/** A server that is closed at the end of the test. */
export async function serve(...parameters: Parameters<typeof startServer>): Promise<TestServer> {
  const server = await startServer(...parameters);
  onTestFinished(() => server.close());
  return server;
}

/** Valid arguments for an operation, derived from its declaration. */
function argsFor(operation: Operation): { args: Record<string, string>; body: unknown } {
  const required = Object.entries(operation.params).filter(([, { required: needed }]) => needed !== false);
  const values: Record<string, string> = { per_page: '10', type: 'workspaces' };
  const args = Object.fromEntries(required.map(([name]) => [name, values[name] ?? 'ab']));
  const example = operation.body?.required ? JSON.parse(operation.body.example) : undefined;
  if (operation.name === 'scheduler.policies.write') return { args: { policy_name: 'readonly' }, body: example };
  return { args: 'volume_id' in args && example ? { ...args, volume_id: 'db' } : args, body: example };
}

/** `handle` answers the operation alone: the read of the subject before it finds the subject, and is not counted. */
export async function outcome(kind: TargetKind, operation: Operation, handle: Handler, attempts = ALL) {
  const isSubjectRead = ({ method }: { readonly method?: string | undefined }) =>
    operation.subjectRead !== undefined && method === operation.subjectRead.method;
  const server = await serve((request, response, count) =>
    isSubjectRead(request) ? void response.end('{"data":{"versions":{}}}') : handle(request, response, count),
  );
  const { client, metrics, lines } = createTestClient(createTarget(kind, server.origin), { timeouts: { attempts } });
  const { args, body } = argsFor(operation);
  const error = await client.call(operation, args, { metrics, body }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  await client.close();
  return { error, requests: server.requests.filter((request) => !isSubjectRead(request)).length, metrics, lines };
}
