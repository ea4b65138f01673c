import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { Skipped } from '../result.ts';

const REQUIREMENTS = join(PACKAGE_ROOT, 'bench', 'peers', 'requirements.txt');
const INSTALL_MS = 600_000;

/**
 * Installs dlt with the versions of requirements.txt into a virtual environment below node_modules, or takes the one that an
 * earlier run installed.
 * @returns the path of its Python
 * @throws Skipped when there is no Python, or it cannot install dlt
 */
export async function installDlt(log: (text: string) => void): Promise<string> {
  const digest = createHash('sha256').update(await readFile(REQUIREMENTS));
  const folder = join(PACKAGE_ROOT, 'node_modules', '.cache', `tidemark-bench-${digest.digest('hex').slice(0, 12)}`);
  const python = join(folder, 'bin', 'python');
  const complete = join(folder, 'complete');
  if (existsSync(complete)) return python;
  log('installing dlt into node_modules/.cache');
  await rm(folder, { recursive: true, force: true });
  await run('python3 cannot create a virtual environment', 'python3', ['-m', 'venv', folder]);
  await run('pip cannot install dlt', python, ['-m', 'pip', 'install', '--quiet', '-r', REQUIREMENTS]);
  await writeFile(complete, '');
  return python;
}

async function run(failure: string, command: string, args: readonly string[]): Promise<void> {
  try {
    await promisify(execFile)(command, args, { timeout: INSTALL_MS });
  } catch (error) {
    throw new Skipped(`${failure}: ${lastLine(error as Error & { stderr?: string })}`);
  }
}

function lastLine({ stderr, message }: Error & { stderr?: string }): string {
  return stderr?.trim().split('\n').at(-1) || message;
}
