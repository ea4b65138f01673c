import type { RunResult } from '../../src/run/run.ts';
import { type TestProject, type TestProjectOptions, testProject } from '../helpers/test-project.ts';

export const SOURCES = ['--source', 'acl_policies', '--source', 'volumes'];
export const POLICIES = ['--source', 'acl_policies'];

/** Pulls at a time after the first night, and counts the requests. The sandbox's estate changes only where a test changes it. */
export async function pullAt(place: TestProject, at: string, words: readonly string[] = SOURCES, exit = 0) {
  const first = place.sandbox.log.length;
  const { json, stderr } = await place.pull([...words, '--now', `2026-10-${at}Z`], exit);
  const paths = place.sandbox.log.slice(first).map(({ path }) => decodeURIComponent(path));
  const { pulls } = json<RunResult>();
  const reused = Object.fromEntries(pulls.map((pull) => [pull.source, pull.reused]));
  const reads = paths
    .filter((path) => /\/(acl\/policy|volume\/csi)\//u.test(path))
    .map((path) => path.split('/').at(-1));
  return { paths, reads, reused, stderr, pulls };
}

export const scheduler = (place: TestProject) => place.sandbox.services.scheduler.state;

/** Changes a record as a write to the service would. */
export function change<T extends { modifyIndex: number }>(
  place: TestProject,
  record: T | undefined,
  changes: Partial<T>,
): T {
  const state = scheduler(place);
  const highest = Math.max(state.index, ...[...state.policies.values()].map(({ modifyIndex }) => modifyIndex));
  return Object.assign(record!, changes, { modifyIndex: highest + 1 });
}

export const claimed = (place: TestProject) =>
  [...scheduler(place).volumes.values()].filter(({ claims }) => claims.length > 0);
export const unclaimed = (place: TestProject) =>
  [...scheduler(place).volumes.values()].filter(({ claims }) => claims.length === 0);

/** A project that has pulled once. */
export async function pullOnce(options: TestProjectOptions = {}, words = SOURCES): Promise<TestProject> {
  const place = await testProject({ workspaces: 5, ...options });
  await pullAt(place, '01T02:15:00', words);
  return place;
}
