import { readdirSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Command } from 'commander';
import { beforeAll, describe, expect, test } from 'vitest';
import { builtInPlaybooks } from '../../src/act/playbooks/index.ts';
import { defineProgram } from '../../src/cli/index.ts';
import { SEVERITIES, SHELLS } from '../../src/core/choices.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { sources } from '../../src/extract/sources/index.ts';
import { operations } from '../../src/services/index.ts';
import { listReportNames } from '../../src/tell/reports/definitions.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { cli } from '../helpers/cli.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const tables = await loadTables(createSqlFiles([PACKAGE_ROOT]));
const atEnd = cleanAtEnd();
let cwd: string;

beforeAll(async () => {
  cwd = await tempFolder(atEnd);
  const names = ['acme', 'vault', 'two words', '$(reboot)', '-rf'];
  const targets = names.map((name) => `  - { name: ${JSON.stringify(name)}, kind: platform, token: "\${NOT_SET}" }`);
  await writeFile(join(cwd, 'tidemark.yaml'), `data: ./history\ntargets:\n${targets.join('\n')}\n`);
  await writeFile(join(cwd, 'other.yaml'), 'targets: [{ name: elsewhere }]\n');
  await writeFile(join(cwd, 'broken.yaml'), 'targets: [\n');
  for (const folder of ['jobs', 'queries/saved', 'queries/findings', 'history/plans']) {
    await mkdir(join(cwd, folder), { recursive: true });
  }
  await writeFile(join(cwd, 'jobs', 'hourly.yaml'), '');
  await writeFile(join(cwd, 'queries', 'saved', 'idle-pools.sql'), '');
  await writeFile(join(cwd, 'queries', 'findings', 'own-rule.sql'), '');
  await writeFile(join(cwd, 'history', 'plans', 'p-1234.json'), '{}');
});

/** The candidates for the last word. */
async function complete(...words: string[]): Promise<readonly string[]> {
  const { exit, stdout, stderr } = await cli(['__complete', ...words], { cwd });
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t', 1)[0] ?? '');
}

describe('names', () => {
  test('commands and subcommands', async () => {
    expect(await complete('')).toEqual(expect.arrayContaining(['pull', 'playbook', 'completion', 'help']));
    expect(await complete('p')).toEqual(
      (await defineProgram()).commands.map((command) => command.name()).filter((name) => name.startsWith('p')),
    );
    expect(await complete('playbook', 'a')).toEqual(['approve', 'apply']);
    expect(await complete('help', 'pu')).toEqual(['pull']);
    expect(await complete('--config', 'other.yaml', 'pu')).toEqual(['pull']);
  });

  test('options, global ones too', async () => {
    const program = await defineProgram();
    const pull = program.commands.find((command) => command.name() === 'pull')!;
    const shown = [...pull.options, ...program.options].filter(({ hidden }) => !hidden).map(({ long }) => long);
    expect([...(await complete('pull', '--'))].sort()).toEqual([...shown, '--help'].sort());
    expect(await complete('demo', '--n')).not.toContain('--nights');
    expect(await complete('sql', '--', '--')).toEqual([]);
  });

  test('choices', async () => {
    expect(await complete('findings', '--fail-on', '')).toEqual([...SEVERITIES]);
    expect(await complete('completion', '')).toEqual([...SHELLS]);
    expect(await complete('findings', '--severity=c')).toEqual(['--severity=critical']);
  });

  test('targets of the configuration that is chosen, even if it is incomplete', async () => {
    expect(await complete('pull', '--target', '')).toEqual(['acme', 'vault']);
    expect(await complete('pull', '--target', 'acme', '--target', 'v')).toEqual(['vault']);
    expect(await complete('pull', '--target=a')).toEqual(['--target=acme']);
    expect(await complete('pull', '--target', '=', 'a')).toEqual(['acme']);
    expect(await complete('--config', 'other.yaml', 'pull', '--target', '')).toEqual(['elsewhere']);
    expect(await complete('pull', '--config=other.yaml', '--target', '')).toEqual(['elsewhere']);
  });

  test('sources, reports, rules, playbooks, operations and jobs are those that exist', async () => {
    expect(await complete('pull', '--source', '')).toEqual(sources.map(({ name }) => name).sort());
    const beginWithAg = (names: readonly string[]) => names.filter((name) => name.startsWith('ag')).sort();
    expect(await complete('pull', '--accept-shrink', 'ag')).toEqual(beginWithAg(sources.map(({ name }) => name)));
    expect(await complete('report', 'drift', '')).toEqual([...listReportNames([PACKAGE_ROOT])]);
    expect(await complete('findings', '--rule', 'o')).toEqual(expect.arrayContaining(['own-rule', 'outdated-version']));
    expect(await complete('playbook', 'plan', '')).toEqual(builtInPlaybooks.map(({ name }) => name).sort());
    expect(await complete('permissions', '--playbook', 'reap')).toEqual(['reap-dead-agents']);
    expect(await complete('api', '')).toEqual([...operations.keys()]);
    const jobs = readdirSync(join(PACKAGE_ROOT, 'jobs')).map((file) => basename(file, '.yaml'));
    expect(await complete('run', '')).toEqual([...jobs, 'hourly'].sort());
    expect(await complete('mail', 'n')).toEqual(['nightly']);
    expect(await complete('tables', 'ag')).toEqual(beginWithAg([...tables.keys()]));
  });

  test('plans and saved queries of the configuration', async () => {
    expect(await complete('playbook', 'apply', '')).toEqual(['p-1234']);
    expect(await complete('playbook', 'ledger', '--plan', 'p')).toEqual(['p-1234']);
    expect(await complete('sql', '--saved', 'idle-p')).toEqual(['idle-pools']);
  });

  test('come with descriptions', async () => {
    const { stdout } = await cli(['__complete', 'api', 'platform.agents.li'], { cwd });
    expect(stdout).toBe('platform.agents.list\tlists the agents of a pool\n');
  });
});

test.each([
  [['--config', 'broken.yaml', 'pull', '--target', '']],
  [['--config', 'absent.yaml', 'pull', '--target', '']],
  [['--config', '.', 'playbook', 'apply', '']],
  [['unknown', '']],
  [['pull', '--unknown', '']],
  [['sql', '-o', '']],
  [['pull', '--from', '']],
])('%j completes nothing, in silence', async (words) => {
  expect(await complete(...words)).toEqual([]);
});

/** Arguments and values of options that are free text, files, or what only a service knows. */
const FREE = [
  'api <parameters>',
  'sql <words>',
  'lifecycle import <file>',
  'findings accept <id>',
  'findings explain <id>',
  '--from',
  '--body',
  '--param',
  '--reason',
  '--allow-host',
  'show <subject>',
  'diff <from>',
  'diff <to>',
  '--finding',
  '--subject',
  '--owner',
  '--by',
  '--now',
  '--config',
  '--run',
  '--schema',
  '--older-than',
  'policy check <file>',
  'backup verify <dir>',
  'backup restore <dir>',
];
const FREE_METAVARS =
  /<(?:file|dir|place|url|n|number|p|ms|seconds|timestamp|moment|number\/count|address|text|name=value|flavor)>$/u;

test('every value is completed, or is known to be free', async () => {
  const program = await defineProgram();
  const open: string[] = [];
  const visit = async (command: Command, path: readonly string[]): Promise<void> => {
    for (const option of command.options) {
      if (
        !(option.required || option.optional) ||
        option.hidden ||
        FREE.includes(option.long ?? '') ||
        FREE_METAVARS.test(option.flags)
      )
        continue;
      if ((await complete(...path, option.long ?? '', '')).length === 0) open.push(`${path.join(' ')} ${option.flags}`);
    }
    for (const [index, argument] of command.registeredArguments.entries()) {
      const name = `${path.join(' ')} <${argument.name()}>`;
      if (FREE.includes(name)) continue;
      const before = Array.from({ length: index }, () => 'x');
      if ((await complete(...path, ...before, '')).length === 0) open.push(name);
    }
    for (const each of command.commands) await visit(each, [...path, each.name()]);
  };
  await visit(program, []);
  expect(open.filter((each) => !/^(?:init --(?:organization|service)|sandbox --seed)/u.test(each))).toEqual([]);
});

test.each(SHELLS)('tidemark completion %s prints a script', async (shell) => {
  const { exit, stdout } = await cli(['completion', shell], { cwd });
  expect(exit).toBe(0);
  expect(stdout).toContain('__complete');
});
