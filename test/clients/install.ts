import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** What a run installed serves the next one with the same versions. */
export const INSTALL_MS = 1_800_000;

/** A folder in the temporary one that belongs to the content of these files. */
export function cacheFolder(...files: readonly string[]): string {
  const digest = createHash('sha256');
  for (const file of files) digest.update(readFileSync(join(import.meta.dirname, file)));
  return join(tmpdir(), `tidemark-clients-${digest.digest('hex').slice(0, 12)}`);
}

/** Fills a cache folder once. */
export async function fillOnce(folder: string, fill: () => Promise<unknown>): Promise<string> {
  const complete = join(folder, 'complete');
  if (!existsSync(complete)) {
    await fill();
    await writeFile(complete, '');
  }
  return folder;
}

/** The folder of the programs of a Python that has what a file requires. */
export async function installPython(requirements: string): Promise<string> {
  const folder = cacheFolder(requirements);
  const bin = join(folder, 'bin');
  const words = ['-m', 'pip', 'install', '-q', '-r', join(import.meta.dirname, requirements)];
  await fillOnce(folder, async () => {
    await execute('python3', ['-m', 'venv', folder], { timeout: INSTALL_MS });
    await execute(join(bin, 'python'), words, { timeout: INSTALL_MS });
  });
  return bin;
}

/** Whether the machine has a program. @param without what is left out where it has not */
export function hasTool(command: string, argument: string, without: string): boolean {
  const isFound = spawnSync(command, [argument]).status === 0;
  if (!isFound) console.log(`${command} is not installed: ${without}`);
  return isFound;
}
