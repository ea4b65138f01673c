import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { type RunningCommand, startCommand } from '../../helpers/built-command.ts';
import { buildModules } from '../../helpers/built-modules.ts';
import { tempFolder } from '../../helpers/temp.ts';

const SCRIPT = join(PACKAGE_ROOT, 'test', 'helpers', 'contender.js');

interface Contest {
  readonly processes: number;
  /** Acquisitions of each process. */
  readonly rounds: number;
  /** Further processes, each killed at a random time. */
  readonly kills: number;
}

/** Lets processes contend for one lock. No two of them hold it at a time, and no fencing number occurs twice or decreases. */
export async function contend({ processes, rounds, kills }: Contest): Promise<void> {
  const folder = await tempFolder();
  const file = join(folder, 'lock');
  await writeFile(`${file}.count`, '0');
  const module = await lockModule();
  const start = (count: number) => startCommand(SCRIPT, [module, file, String(count)], folder);
  const contenders = Array.from({ length: processes }, () => start(rounds));
  const killed = killSome(() => start(1_000_000), kills);
  for (const { exit, stderr } of await Promise.all(contenders.map(({ ended }) => ended))) {
    expect([exit, stderr]).toEqual([0, '']);
  }
  await killed;
  const fences = (await readFile(`${file}.fences`, 'utf8')).trim().split('\n').map(Number);
  expect(fences).toEqual([...new Set(fences)].sort((a, b) => a - b));
  expect(fences.length).toBeGreaterThanOrEqual(processes * rounds);
  if (kills === 0) expect(await readFile(`${file}.count`, 'utf8')).toBe(String(processes * rounds));
}

export async function lockModule(): Promise<string> {
  return pathToFileURL(join(await buildModules(), 'warehouse', 'lock.js')).href;
}

/** Kills one process after the other while it contends. A process that ended by itself saw a second holder. */
async function killSome(start: () => RunningCommand, kills: number): Promise<void> {
  for (let count = 0; count < kills; count++) {
    const { process: child, ended } = start();
    const timer = setTimeout(() => child.kill('SIGKILL'), 100 + Math.random() * 400);
    const { exit, stderr } = await ended;
    clearTimeout(timer);
    expect([exit, stderr]).toEqual([null, '']);
  }
}
