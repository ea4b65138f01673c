import type { Flavor } from '../../sandbox/types.ts';
import { testProject } from '../helpers/test-project.ts';

/** A number in a body, which `JSON.stringify` cannot write. */
export const HUGE = 'the number 99999999999999999999999999';

/** A project whose sandbox returns these bodies by path; a text as it is. */
export function answering(bodies: Readonly<Record<string, unknown>>, flavor: Flavor = 'spec') {
  const write = (body: unknown) =>
    typeof body === 'string' ? body : JSON.stringify(body).replaceAll(/"the number (\d+)"/gu, '$1');
  return testProject({
    workspaces: 2,
    flavor,
    faultHook: ({ path }) =>
      path in bodies
        ? { status: 200, headers: { 'content-type': 'application/json' }, body: write(bodies[path]) }
        : undefined,
  });
}
