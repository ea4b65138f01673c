import type { RunningSandbox } from '../../sandbox/index.ts';

/** The result of `find` on day 0 and on each of the following days. */
export function collectDays(sandbox: RunningSandbox, days: number, find: () => Set<string>): Set<string>[] {
  const found = [find()];
  for (let day = 0; day < days; day++) {
    sandbox.tick();
    found.push(find());
  }
  return found;
}

/** The names that were present before and are not now. */
export function missingFrom(before: ReadonlySet<string>, now: ReadonlySet<string>): string[] {
  return [...before].filter((name) => !now.has(name));
}
