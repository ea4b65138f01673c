import { createRandom, type Random } from '../prng.ts';
import { HARMFUL_WORKSPACES, PARTS, PROJECTS, STAGES, TEAMS, TOOL_VERSIONS } from './catalogue.ts';
import type { Stacks } from './stacks.ts';
import type { Project, Workspace } from './state.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const RUN_STATUSES = [
  'applied',
  'applied',
  'applied',
  'applied',
  'planned_and_finished',
  'errored',
  'discarded',
] as const;

export interface Nursery {
  readonly seed: number;
  readonly stacks: Stacks;
  readonly projects: readonly Project[];
}

export function createProjects(seed: number): Project[] {
  const random = createRandom(`${seed}/platform/projects`);
  return PROJECTS.map((name) => ({ id: random.id('prj-', 16), name }));
}

/** Every thirteenth of the first workspaces, and one in a thousand later, bears a name made to do harm. */
export function nameOf(index: number, random: Random): string {
  const plain = `${random.pick(TEAMS)}-${random.pick(PARTS)}-${random.pick(STAGES)}-${String(index).padStart(4, '0')}`;
  const harmful = index % 13 === 6 ? HARMFUL_WORKSPACES[(index - 6) / 13] : undefined;
  if (harmful !== undefined) return harmful;
  return index % 997 === 500 ? `"${plain}",=1+1` : plain;
}

function checks(random: Random): Pick<Workspace, 'checksPassed' | 'checksFailed' | 'checksErrored' | 'checksUnknown'> {
  const none = { checksPassed: 0, checksFailed: 0, checksErrored: 0, checksUnknown: 0 };
  if (random.chance(0.3)) return none;
  return {
    checksPassed: random.int(1, 24),
    checksFailed: random.chance(0.07) ? random.int(1, 4) : 0,
    checksErrored: random.chance(0.03) ? random.int(1, 2) : 0,
    checksUnknown: random.chance(0.05) ? random.int(1, 3) : 0,
  };
}

/** A workspace as it stands at `at`; drift is not assessed on one in twenty, and one in sixty never ran. */
export function bornWorkspace(index: number, at: number, random: Random, { stacks, projects }: Nursery): Workspace {
  const ran = !random.chance(1 / 60);
  const createdAt = at - random.int(30, 1500) * DAY - random.int(0, DAY - 1);
  const updatedAt = at - random.int(1, 20 * 24) * HOUR - random.int(0, HOUR - 1);
  const status = ran ? random.pick(RUN_STATUSES) : null;
  const resources = ran ? random.int(0, 240) : 0;
  const drifted = !ran || random.chance(0.05) ? null : random.chance(0.11);
  const resourcesDrifted = drifted ? random.int(1, Math.max(1, Math.min(12, resources))) : 0;
  const version = random.chance(1 / 80) ? null : random.weighted(TOOL_VERSIONS, ([, share]) => share)[0];
  return {
    id: random.id('ws-', 16),
    name: nameOf(index, random),
    project: projects[Math.min(random.int(0, projects.length - 1), random.int(0, projects.length - 1))]!,
    createdAt,
    updatedAt,
    runId: ran ? random.id('run-', 16) : null,
    runStatus: status,
    appliedAt: status === 'applied' ? updatedAt - random.int(60_000, HOUR) : null,
    drifted,
    resourcesDrifted,
    resourcesUndrifted: drifted === null ? 0 : Math.max(0, resources - resourcesDrifted),
    rumCount: ran ? resources : null,
    ...checks(random),
    stack: stacks.any(random),
    toolVersion: version,
    stateVersion: ran && !random.chance(0.02) ? version : null,
    repository: random.chance(0.7) ? `acme/${random.pick(TEAMS)}-${random.pick(PARTS)}` : null,
  };
}

export function createWorkspaces(count: number, at: number, nursery: Nursery): Workspace[] {
  const random = createRandom(`${nursery.seed}/platform/workspaces`);
  return Array.from({ length: count }, (_, index) => bornWorkspace(index, at, random, nursery));
}
