import { spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { buildCommand } from '../../helpers/built-command.ts';
import { tempFolder } from '../../helpers/temp.ts';

/** Runs shell lines in one shell that finds the built command as `tidemark`, and stops at the first that fails. */
async function createShell(folder: string) {
  const bin = join(folder, 'bin');
  await mkdir(bin);
  await writeFile(join(bin, 'tidemark'), `#!/bin/sh\nexec '${process.execPath}' '${await buildCommand()}' "$@"\n`);
  await chmod(join(bin, 'tidemark'), 0o755);
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: folder, NO_COLOR: '1' };
  return (lines: string, cwd = folder) => {
    const { status, stdout, stderr } = spawnSync('sh', ['-e'], { input: lines, cwd, env, encoding: 'utf8' });
    return { exit: status, stdout, stderr };
  };
}

test('the example of the section "Applying changes" of README works on the demo as printed', async () => {
  const readme = await readFile(join(PACKAGE_ROOT, 'README.md'), 'utf8');
  const section = readme.slice(readme.indexOf('\n## Applying changes\n'));
  const example = /```sh\n([\s\S]*?)\n```/u.exec(section)?.[1] ?? '';
  expect(example.match(/^tidemark playbook (?:plan|show|approve|apply|undo) /gmu)).toHaveLength(5);
  const folder = await tempFolder();
  const shell = await createShell(folder);
  const demo = shell('tidemark demo');
  expect(demo.exit, demo.stderr).toBe(0);
  const { exit, stdout, stderr } = shell(example);
  expect(exit, `${stdout}\n${stderr}`).toBe(0);
  expect(stdout, 'show prints the API call').toMatch(
    /^ {2}(?:POST|PUT|PATCH|DELETE) http:\/\/127\.0\.0\.1:\d+\/v1\/\S+$/mu,
  );
  expect(stdout, 'and the difference').toMatch(/^ {2}[-+~] /mu);
  expect(stdout).toMatch(/^1 applied$/mu);
  const again = shell('tidemark playbook apply plan.json', join(folder, 'demo'));
  expect([again.exit, again.stdout]).toEqual([
    0,
    expect.stringMatching(/^plan \S+ is finished, nothing to do: 1 applied\n$/u),
  ]);
});
