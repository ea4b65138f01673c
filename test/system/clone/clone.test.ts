import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { tempFolder } from '../../helpers/temp.ts';

/** Runs a program to its end, without the variables that npm sets for its scripts. */
function run(program: string, args: readonly string[], cwd: string): string {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(?:npm_|VITEST|NODE_ENV)/u.test(name)),
  );
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** What is committed must suffice: a file that only this checkout has is missing here. */
test.skipIf(!existsSync(join(PACKAGE_ROOT, '.git')))(
  'a clean clone installs, runs the demo, and stays clean',
  async () => {
    const folder = await tempFolder();
    const clone = join(folder, 'clone');
    run('git', ['clone', '--quiet', '--no-hardlinks', PACKAGE_ROOT, clone], folder);
    run('npm', ['ci', '--no-audit', '--no-fund', '--prefer-offline'], clone);
    const output = run('npm', ['run', 'demo', '--', '--runs', '2', '--workspaces', '20'], clone);
    expect(output).toContain('demo/out/index.html');
    expect(existsSync(join(clone, 'demo', 'out', 'index.html'))).toBe(true);
    expect(run('npx', ['tidemark', '--version'], clone)).toMatch(/^\d+\.\d+\.\d+\n$/u);
    expect(run('git', ['status', '--porcelain'], clone)).toBe('');
  },
);
