import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { listWrites, playbookHarness } from '../../helpers/playbook-harness.ts';
import type { Cleanup } from '../../helpers/temp.ts';

/** A pause longer than this ends an apply. */
const MAX_PAUSE_MS = 30_000;

interface Stop {
  /** The apply is stopped when its request of this number arrives, or this long after it. */
  readonly request: number;
  readonly afterMs: number;
  readonly pauseMs: number;
  readonly cleanup?: Cleanup;
}

/** Stops an apply of a rotation, which may not be repeated, and lets a second one try meanwhile. Each key is rotated once. */
export async function stopApply({ request, afterMs, pauseMs, cleanup }: Stop): Promise<void> {
  const command = await buildCommand();
  let child: ChildProcess | undefined;
  let requests = 0;
  let isStopped: (atMs: number) => void = () => {};
  const stopped = new Promise<number>((resolve) => {
    isStopped = resolve;
  });
  const place = await playbookHarness({
    playbook: 'rotate-old-keys',
    ...(cleanup && { cleanup }),
    faultHook: () => {
      if (child !== undefined && requests++ === request) {
        const kill = child.kill.bind(child, 'SIGSTOP');
        const stop = () => {
          kill();
          isStopped(performance.now());
        };
        if (afterMs === 0) stop();
        else setTimeout(stop, afterMs);
      }
      return undefined;
    },
  });
  const { actions } = await place.plan(['--max-percent', '100']);
  await place.approve();
  place.sandbox.log.length = 0;
  const words = ['playbook', 'apply', place.planFile, '--now', place.sandbox.now.toISOString()];
  const first = startCommand(command, words, place.folder);
  child = first.process;
  const stoppedAtMs = await Promise.race([stopped, first.ended.then(() => Number.NaN)]);
  child = undefined;
  await sleep(pauseMs);

  const second = await startCommand(command, words, place.folder).ended;
  const isOver = first.process.exitCode !== null;
  if (!isOver) {
    expect([second.exit, second.stderr]).toEqual([
      6,
      expect.stringMatching(/locked by plan p-\S+ \(process \d+ on \S+\) since /u),
    ]);
  }
  first.process.kill('SIGCONT');
  const pausedMs = performance.now() - stoppedAtMs; // on a busy machine, the second apply can take longer than the pause
  const { exit, stderr } = await first.ended;
  if (exit === 0) expect(pauseMs <= MAX_PAUSE_MS || isOver, `request ${request}`).toBe(true);
  else {
    expect([exit, stderr], `request ${request}`).toEqual([1, expect.stringContaining('the process was stopped for')]);
    expect(pausedMs).toBeGreaterThan(MAX_PAUSE_MS);
    await place.apply();
  }
  const rotations = listWrites(place.sandbox.log).map(({ path }) => path);
  expect(rotations.sort(), `stopped at request ${request}, after ${afterMs} ms`).toEqual(
    actions.map(({ params }) => `/v1/keymgmt/key/${encodeURIComponent(String(params.name))}/rotate`).sort(),
  );
}
