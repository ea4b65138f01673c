import { execFile, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import type { Flavor } from '../../sandbox/types.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { describeSandbox } from './facts.ts';
import { cacheFolder, hasTool, INSTALL_MS, installPython } from './install.ts';
import { type ClientResult, explain } from './reasons.ts';
import { formatDocument, type RunResults } from './report.ts';

/**
 * Runs the vendors' clients and their users' against the sandbox in both flavors, and writes docs/clients.md. A tier of
 * its own (`npm run test:clients`): it installs Python packages and Go modules.
 */
const HERE = new URL('.', import.meta.url).pathname;
const FLAVORS: readonly Flavor[] = ['hashicorp', 'spec'];
const RUN_MS = 300_000;

const runs: RunResults[] = [];
const execute = promisify(execFile);

async function preparePython(): Promise<readonly string[]> {
  const bin = await installPython('python/requirements.txt');
  return [join(bin, 'python'), join(HERE, 'python/operations.py')];
}

async function buildGo(): Promise<readonly string[]> {
  const folder = cacheFolder('go/main.go', 'go/go.mod');
  await mkdir(folder, { recursive: true });
  const program = join(folder, 'clients');
  if (!existsSync(program)) {
    await execute('go', ['build', '-o', program, '.'], { cwd: join(HERE, 'go'), timeout: INSTALL_MS });
  }
  return [program];
}

async function runClients([command = '', ...args]: readonly string[], flavor: Flavor): Promise<ClientResult[]> {
  const sandbox = await startTestSandbox({ flavor, workspaces: 60 });
  try {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], timeout: RUN_MS });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stdin.end(JSON.stringify(describeSandbox(sandbox, flavor)));
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect(code).toBe(0);
    return output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as ClientResult);
  } finally {
    await sandbox.close();
  }
}

const NOT_RUN = 'its clients are not run, and docs/clients.md stays as it is';
const PROGRAMS = [
  { language: 'Python', isPresent: hasTool('python3', '--version', NOT_RUN), install: preparePython },
  { language: 'Go', isPresent: hasTool('go', 'version', NOT_RUN), install: buildGo },
];

describe.each(PROGRAMS)('clients in $language', ({ isPresent, install }) => {
  test.skipIf(!isPresent).each(FLAVORS)(
    'what the sandbox refuses with flavor %s has a reason',
    async (flavor) => {
      const results = await runClients(await install(), flavor);
      runs.push({ flavor, results });
      const wrong = results.filter(({ error }) => error !== null);
      expect(results.length).toBeGreaterThan(40);
      expect(wrong.filter((result) => explain(flavor, result) === undefined)).toEqual([]);
    },
    INSTALL_MS + RUN_MS,
  );
});

afterAll(async () => {
  if (runs.length < PROGRAMS.length * FLAVORS.length) return;
  await writeFile(join(HERE, '../../docs/clients.md'), formatDocument(runs, readVersions()));
});

/** Versions by name of the client. */
function readVersions(): Readonly<Record<string, string>> {
  const pinned = readFileSync(join(HERE, 'python/requirements.txt'), 'utf8').matchAll(/^(\S+)==(\S+)$/gm);
  const modules = readFileSync(join(HERE, 'go/go.mod'), 'utf8').matchAll(/github\.com\/hashicorp\/(\S+) v(\S+)/g);
  return Object.fromEntries([...pinned, ...modules].map(([, name, version]) => [name, version] as const));
}
