import type { Sandbox } from '../../src/sandbox/types.ts';

/** What `find` says on night 0 and on each of the nights after it. */
export function nightsOf(sandbox: Sandbox, nights: number, find: () => Set<string>): Set<string>[] {
  const found = [find()];
  for (let night = 0; night < nights; night++) {
    sandbox.tick();
    found.push(find());
  }
  return found;
}

/** What was there before and is not now. */
export function vanished(before: ReadonlySet<string>, now: ReadonlySet<string>): string[] {
  return [...before].filter((name) => !now.has(name));
}
