import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { defineProgram } from '../../src/cli/index.ts';
import { PACKAGE_ROOT, version } from '../../src/core/paths.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

const cwd = await tempFolder(afterAll);
const { commands } = await defineProgram();
const run = (...words: string[]) => cli(words, { cwd });

describe('help', () => {
  test.each(commands.map((command) => command.name()))(
    'tidemark %s --help prints usage on stdout and exits with 0',
    async (name) => {
      const { exit, stdout, stderr } = await run(name, '--help');
      expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
      expect(stdout).toMatch(new RegExp(`^Usage: tidemark ${name}\\b`, 'u'));
      expect((await run('help', name)).stdout).toBe(stdout);
    },
  );

  test('lists every command with its description', async () => {
    const { exit, stdout } = await run('--help');
    expect(exit).toBe(0);
    for (const command of commands) {
      const summary = command.summary() || command.description();
      expect(stdout.replaceAll(/\s+/gu, ' ')).toContain(` ${command.name()} `);
      expect(stdout.replaceAll(/\s+/gu, ' ')).toContain(summary);
      expect(summary).not.toMatch(/\.$/u);
    }
  });

  test('without a command is shown on stderr, and the exit is 2', async () => {
    const { exit, stdout, stderr } = await run();
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toContain('Usage: tidemark');
  });
});

describe('a wrong command line ends with 2', () => {
  test.each([
    [['statsu'], /unknown command 'statsu'\n\(Did you mean status\?\)/],
    [['help', 'statsu'], /unknown command statsu\n.*known are help, .*status/],
    [['playbook', 'plam', '--help'], /unknown command plam\n.*known are help, .*plan/],
    [['status', '--jsn'], /unknown option '--jsn'/],
    [
      ['sql', '--format', 'xml', 'select 1'],
      /'xml' is invalid. Allowed choices are table, line, csv, json, ndjson, markdown, parquet, xlsx/,
    ],
    [['run'], /missing required argument 'job'/],
    [['status', 'too', 'much'], /too many arguments/],
    [
      ['--now', 'yesterday', 'status'],
      /'yesterday' is invalid. must be a timestamp such as 2026-11-20 or 2026-11-20T02:15:00Z/,
    ],
    [['--config'], /argument missing/],
    [['sandbox', '--rate', '0'], /must be a whole number above 0/],
    [['sandbox', '--seed', 'some'], /must be a whole number, or `hostile`/],
    [['demo', '--runs', 'some'], /must be a whole number above 0/],
    [['sql', '--param', 'x', 'select 1'], /x is not NAME=VALUE/],
    [['sql', '--timeout', '9999999999', 'select 1'], /must be a whole number from 1 to 2000000/],
    [['--now', '9999-12-31', 'status'], /must be a timestamp such as/],
    [['--now', '0206-11-20', 'status'], /must be a timestamp such as/],
    [['--now', '2027-02-29', 'status'], /must be a timestamp such as/],
    [['findings', 'accept', 'f-1', '--until', '2026-06-31T00:00:00Z'], /must be a timestamp such as/],
    [['sandbox', '--flavor', 'x'], /'x' is invalid. Allowed choices are spec, hashicorp/],
    [['findings', 'explain', 'f-1', '--fail-on', 'critical'], /--fail-on is no option of findings explain/],
    [['playbook', 'ledger', '--accept', 'verify'], /--accept is no option of playbook ledger verify/],
    [['diff', '--tabel', 'agents'], /unknown option --tabel/],
    [['export', '--out', ''], /--out must not be empty/],
    [['pull', '--target', ''], /--target must not be empty/],
    [['--config', '', 'status'], /--config must not be empty/],
    [['backup', ''], /an argument must not be empty/],
  ])('%j', async (words, message) => {
    const { exit, stdout, stderr } = await run(...words);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

test.each([
  [[], 'node ../bin/tidemark.js init'],
  [['--config', 'demo/tidemark.yaml'], 'node ../bin/tidemark.js --config demo/tidemark.yaml init'],
  [["--config=my 'estate'.yaml"], "node ../bin/tidemark.js --config 'my '\\''estate'\\''.yaml' init"],
])('a message names a command as this shell runs it, with %j', async (words, command) => {
  const { exit, stderr } = await cli([...words, 'status'], {
    cwd: await tempFolder(),
    program: 'node ../bin/tidemark.js',
  });
  expect([exit, stderr]).toEqual([2, expect.stringContaining(`write one with \`${command}\``)]);
});

test('--version prints the version of the package', async () => {
  expect(await run('--version')).toMatchObject({ exit: 0, stdout: `${version}\n`, stderr: '' });
});

describe('a file or folder that cannot be used ends with 2 and its name', () => {
  test.each([
    ['a folder for a configuration', ['--config', '.', 'sql', 'select 1'], /cannot be read: it is a folder\n/u],
    [
      'a configuration under a file',
      ['--config', 'occupied/deeper/t.yaml', 'init'],
      /occupied.* cannot be used: not a directory/u,
    ],
    [
      'a file of a checkout that runs',
      ['--config', join(PACKAGE_ROOT, 'README.md', 'deeper', 't.yaml'), 'init'],
      /README\.md.* cannot be used: not a directory/u,
    ],
    [
      'a result in a folder that is none',
      ['sql', 'select 1', '-o', 'none/x.csv'],
      /-o none\/x\.csv: folder .* does not exist/u,
    ],
    ['a warehouse under a file', ['pull'], /occupied.* cannot be used: not a directory/u],
    ['the warehouse of a reader under a file', ['status'], /occupied.* cannot be used: not a directory/u],
  ])('%s', async (_what, words, reason) => {
    const folder = await tempFolder();
    await writeFile(join(folder, 'occupied'), '');
    const config = 'data: occupied/data\ntargets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]';
    await writeFile(join(folder, 'tidemark.yaml'), config);
    const { exit, stdout, stderr } = await cli(words, { cwd: folder });
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr).toMatch(reason);
    expect(stderr).not.toContain('internal error');
  });
});

const isRoot = process.getuid?.() === 0;
if (isRoot) console.warn('skipped: a configuration that this account may not read: root may read every file');

test.skipIf(isRoot)('a configuration that this account may not read asks for no new one', async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), '', { mode: 0o000 });
  const { exit, stderr } = await cli(['status'], { cwd: folder });
  expect([exit, stderr]).toEqual([2, expect.stringMatching(/permission denied\n {2}run as its owner/u)]);
});

test('a bug ends with 70 and shows its stack', async () => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), 'targets: [{ name: a, kind: mesh, url: "http://127.0.0.1:9" }]');
  const readStdin = () => Promise.reject(new TypeError('nobody thought of this'));
  const { exit, stdout, stderr } = await cli(['sql'], { cwd: folder, readStdin });
  expect({ exit, stdout }).toEqual({ exit: 70, stdout: '' });
  expect(stderr).toMatch(/^internal error: TypeError: nobody thought of this\n +at /u);
});
