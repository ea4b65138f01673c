import { expect } from 'vitest';
import type { FaultHook } from '../../../sandbox/router.ts';
import type { Kind } from '../../../sandbox/types.ts';
import {
  copyState,
  listWrites,
  type PlaybookHarness,
  playbookHarness,
  type RemoteState,
  restoreState,
} from '../../helpers/playbook-harness.ts';
import type { Cleanup } from '../../helpers/temp.ts';
import type { PlaybookCase } from './playbooks.ts';

/** Guards that read through a token that lost its permission, or from a replica that lags. */

const isRead = (method: string): boolean => method === 'GET' || method === 'LIST';

/** A list answers "nothing" in the form of its service. */
const EMPTY: readonly (readonly [path: RegExp, status: number, body: string])[] = [
  [
    /\/(?:agents|agent-pools|views|results)$/u,
    200,
    '{"data":[],"meta":{"pagination":{"total-count":0,"total-pages":1}}}',
  ],
  [/\/(?:key|kms|roles)$/u, 404, '{"errors":[]}'],
  [/\/(?:volumes|policies)$/u, 200, '[]'],
  [/\/volumes\/external$/u, 200, '{"Volumes":[]}'],
  [/\/volumes\/snapshot$/u, 200, '{"Snapshots":[]}'],
];
const emptyList = (path: string) => EMPTY.find(([pattern]) => pattern.test(path));
const notFound = (kind: Kind) => ({ status: 404, body: kind === 'scheduler' ? 'not found' : '{"errors":[]}' });

export interface Blindness {
  readonly name: string;
  /** Responds to reads instead of the service; without it, the service has nothing. */
  readonly hook?: FaultHook;
}

const LISTS_ARE_RIGHT: Blindness = {
  name: 'reads of one subject answer 404, and lists are right',
  hook: ({ method, path }, { kind }) => (isRead(method) && !emptyList(path) ? notFound(kind) : undefined),
};

export const BLINDNESSES: readonly Blindness[] = [
  LISTS_ARE_RIGHT,
  {
    name: 'every read answers 404',
    hook: ({ method }, { kind }) => (isRead(method) ? notFound(kind) : undefined),
  },
  {
    name: 'reads of one subject answer 404, and lists are empty',
    hook: ({ method, path }, { kind }) => {
      if (!isRead(method)) return undefined;
      const [, status, body] = emptyList(path) ?? [];
      return status === undefined ? notFound(kind) : { status, body: body! };
    },
  },
  { name: 'the token sees nothing' },
];

interface Row {
  readonly status: string;
  readonly reason: string | null;
}

/** Their guards need no more than lists. */
const READS_LISTS = ['pin-drift-view', 'adopt-orphaned-volumes', 'drop-stale-snapshots'];

/** Whether the guard of a playbook does not see its subject. */
export function isBlind(blindness: Blindness, { playbook }: PlaybookCase): boolean {
  return blindness !== LISTS_ARE_RIGHT || !READS_LISTS.includes(playbook);
}

/** What a blind guard does not find stays pending, and is applied after the fault. */
export async function expectPending(
  { playbook, sources = [] }: PlaybookCase,
  all: readonly Blindness[],
  cleanup: Cleanup,
): Promise<void> {
  let fault: FaultHook | undefined;
  const place = await playbookHarness({
    playbook,
    sources,
    cleanup,
    updatesTable: false,
    faultHook: (...asked) => fault?.(...asked),
  });
  const initial = copyState(place);
  const plan = await place.plan(['--max-percent', '100']);
  expect(plan.actions.length).toBeGreaterThan(0);
  await place.approve();
  for (const { name, hook } of all) {
    fault = hook;
    if (!hook) hideEverything(place);
    place.sandbox.log.length = 0;
    const { exit, stdout, stderr } = await apply(place);
    expect(exit, `${name}\n${stdout}${stderr}`).toBe(1);
    expect(listWrites(place.sandbox.log), name).toEqual([]);
    const settled = (await place.ledger()).filter(({ status }) => status === 'skipped' || status === 'applied');
    expect(settled, name).toEqual([]);
    fault = undefined;
    restoreState(place, initial);
  }
  const { exit, stdout } = await apply(place);
  const { rows } = JSON.parse(stdout) as { rows: readonly Row[] };
  expect(rows.map(({ status }) => status)).toEqual(plan.actions.map(() => 'applied'));
  expect(exit).toBe(0);
}

function apply(place: PlaybookHarness) {
  return place.tidemark(['playbook', 'apply', place.planFile, '--json', '--max-failures', '99']);
}

/** What a token without any permission sees where the service answers with empty lists. */
function hideEverything({ sandbox }: PlaybookHarness): void {
  const { platform, secrets, scheduler } = {
    platform: sandbox.services.platform.state,
    secrets: sandbox.services.secrets.state,
    scheduler: sandbox.services.scheduler.state,
  } satisfies Partial<RemoteState>;
  for (const list of [platform.agents, platform.pools, platform.views] as unknown[][]) list.splice(0, list.length);
  const maps = [secrets.keys, secrets.providers, secrets.roles, scheduler.policies, scheduler.volumes] as Map<
    string,
    unknown
  >[];
  for (const map of maps) map.clear();
  for (const { externals, snapshots } of scheduler.plugins.values()) {
    externals.clear();
    snapshots.clear();
  }
}
