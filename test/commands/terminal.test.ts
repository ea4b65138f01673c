import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { toCommand } from '../../src/cli/shell.ts';
import { makeFolder } from '../../src/core/fs.ts';
import { displayWidth } from '../../src/core/text-table.ts';
import { type CliOptions, cli } from '../helpers/cli.ts';
import { emptyProject, findings, publishWarehouse } from '../helpers/findings-command.ts';
import { parseElements } from '../helpers/html.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

const AT = '2026-11-18T02:15:00Z';
const LONG = 'a-workspace-with-a-name-that-is-longer-than-most-terminals-are-wide-and-then-some-more';

const HOSTILE = `x"; touch 'hacked'; "$(id)`;

const atEnd = cleanAtEnd();
let cwd: string;

beforeAll(async () => {
  cwd = await emptyProject(atEnd);
  await publishWarehouse(cwd, atEnd, async (warehouse) => {
    const workspaces = [
      { external_id: 'ws-1', workspace_name: LONG, drifted: true, checks_failed: 0, checks_errored: 0 },
    ];
    await warehouse.pull(AT, 'acme', 'workspaces', { workspaces });
    const volumes = ['a', 'b', 'c'].map((volume_id) => ({
      namespace: 'default',
      volume_id,
      plugin_id: 'ce9400',
      schedulable: false,
    }));
    const hostile = { namespace: 'default', volume_id: HOSTILE, plugin_id: 'other', schedulable: false };
    await warehouse.pull(AT, 'vault', 'volumes', { volumes: [...volumes, hostile] });
    await warehouse.evaluate(AT, { targets: ['acme', 'vault'] });
  });
});

const onScreen = (columns: number): Partial<CliOptions> => ({
  screen: { columns, rows: 24 },
  env: { NO_COLOR: '1' },
});

describe('tables', () => {
  for (const columns of [60, 80, 100]) {
    test(`fit ${columns} columns; an ID is whole, a sentence goes on below, and --wide or a pipe shows all`, async () => {
      const { stdout } = await cli(['findings'], { cwd, ...onScreen(columns) });
      const lines = stdout.split('\n');
      expect(Math.max(...lines.map(displayWidth))).toBeLessThanOrEqual(columns);
      expect(stdout).toMatch(/ f-[0-9a-f]{12}\n/u);
      const start = lines[0]?.indexOf('WHAT') ?? 0;
      const what = lines.slice(1).map((line) =>
        line
          .slice(start)
          .replace(/ {2,}f-.*/u, '')
          .trim(),
      );
      expect(what.join('').replaceAll(/\s/gu, '')).toContain(`Workspace${LONG}drifts`);
      expect(stdout).not.toContain('…');
      expect(stdout).toContain('--wide shows all');
      const wide = await cli(['--wide', 'findings'], { cwd, ...onScreen(columns) });
      expect(wide.stdout).toContain(LONG);
      expect(wide.stdout).toBe((await cli(['findings'], { cwd })).stdout);
    });
  }

  test('a narrow screen does without the rule, then the day, then the target, before it breaks a time or an ID', async () => {
    const header = async (columns: number) =>
      (await cli(['findings'], { cwd, ...onScreen(columns) })).stdout.split('\n', 1)[0]?.split(/ +/u).join(' ');
    expect(await header(132)).toBe('SEVERITY STATE SINCE TARGET RULE WHAT ID');
    expect(await header(100)).toBe('SEVERITY STATE SINCE TARGET WHAT ID');
    expect(await header(80)).toBe('SEVERITY STATE TARGET WHAT ID');
    expect(await header(60)).toBe('SEVERITY STATE WHAT ID');
    const { stdout } = await cli(['status'], { cwd, ...onScreen(80) });
    expect(stdout).not.toMatch(/\d…/u);
  });

  test('findings of one cause are told with a verb', async () => {
    const { stdout } = await findings(cwd, ['--rule', 'volume-unschedulable']);
    expect(stdout).toMatch(/3 volumes of plugin ce9400 cannot be scheduled \(a, b, c\)/u);
  });

  test('columns of a query keep their names', async () => {
    const { stdout } = await cli(['sql', 'select 1 as "Mixed_Case"'], { cwd });
    expect(stdout).toContain('Mixed_Case\n');
  });
});

describe('tidemark findings explain', () => {
  test('tells the rule, what it saw, since when, what ends it and what to do', async () => {
    const [{ finding_id: id }] = JSON.parse(
      (await findings(cwd, ['--rule', 'drifted-workspace'], { json: true })).stdout,
    );
    const { exit, stdout } = await cli(['findings', 'explain', id.slice(0, 8)], { cwd });
    expect(exit).toBe(0);
    expect(stdout).toContain(`${id}: Workspace ${LONG} drifts\n`);
    expect(stdout).toContain("rule      drifted-workspace: A workspace's resources differ from its configuration.\n");
    expect(stdout).toContain(`state     warning, open since ${AT}\n`);
    expect(stdout).toContain('workspace_id: ws-1\n');
    expect(stdout).toContain('ends      the next complete pull of workspaces, after which the rule does not find it');
    expect(stdout).toContain('repair    start a run that applies the configuration');
    const json = await cli(['--json', 'findings', 'explain', id], { cwd });
    expect(json.json()).toMatchObject({ finding: { finding_id: id }, rule: { name: 'drifted-workspace' } });
  });

  test('names what happened as pages and mails do', async () => {
    const folder = await emptyProject(atEnd);
    await publishWarehouse(folder, atEnd, async (warehouse) => {
      for (const [day, drifted] of [true, false, true].entries()) {
        const at = `2026-11-1${day}T02:15:00Z`;
        const workspaces = [{ external_id: 'ws-1', workspace_name: 'shop', drifted }];
        await warehouse.pull(at, 'acme', 'workspaces', { workspaces });
        await warehouse.evaluate(at, { targets: ['acme'] });
      }
    });
    const [{ finding_id: id }] = JSON.parse(
      (await findings(folder, ['--rule', 'drifted-workspace'], { json: true })).stdout,
    );
    const { stdout } = await cli(['findings', 'explain', id], { cwd: folder });
    const [, history = ''] = /^history {3}(.*?)\n\S/msu.exec(stdout) ?? [];
    expect(history.split('\n').map((line) => line.trim().split(' ', 2)[1])).toEqual([
      'baseline',
      'resolved',
      'returned',
    ]);
  });

  test('is what the page of the subject says, and its text names the command', async () => {
    const [{ finding_id: id, title }] = JSON.parse(
      (await findings(cwd, ['--rule', 'volume-unschedulable'], { json: true })).stdout,
    );
    const { guide, finding } = (await cli(['--json', 'findings', 'explain', id], { cwd })).json() as {
      guide: { meaning: string; ends: string };
      finding: { subject_id: string; detail: Record<string, unknown> };
    };
    const page = join(await tempFolder(), 'page.html');
    expect((await cli(['show', finding.subject_id, '--html', page], { cwd })).exit).toBe(0);
    const item = parseElements(await readFile(page, 'utf8')).find(({ attributes }) => attributes.id === id)?.text ?? '';
    for (const said of [title, guide.meaning, guide.ends, ...Object.keys(finding.detail)]) expect(item).toContain(said);
    expect((await cli(['show', finding.subject_id], { cwd })).stdout).toContain(`tidemark findings explain ${id}\n`);
  });

  test('the command to copy is one word for each argument, whatever a subject is called', async () => {
    const all = JSON.parse((await findings(cwd, ['--rule', 'volume-unschedulable'], { json: true })).stdout) as {
      finding_id: string;
      subject_id: string;
    }[];
    const found = all.find(({ subject_id }) => subject_id.includes('hacked'));
    const { stdout } = await cli(['findings', 'explain', found?.finding_id ?? ''], { cwd });
    const [, command = ''] = /`tidemark show (.*) --target vault`/u.exec(stdout) ?? [];
    const { stdout: word } = await promisify(execFile)('/bin/sh', ['-c', `printf %s ${command}`], { cwd });
    expect(word).toBe(found?.subject_id);
  });

  test('an unknown ID is one line', async () => {
    const { exit, stderr } = await cli(['findings', 'explain', 'f-nothing'], { cwd });
    expect([exit, stderr]).toEqual([2, 'error: unknown finding f-nothing\n  see `tidemark findings`\n']);
  });
});

describe('a typo is found before the night', () => {
  async function listSchedule(files: Readonly<Record<string, string>>) {
    const folder = await emptyProject();
    for (const [file, text] of Object.entries(files)) {
      await mkdir(join(folder, file, '..'), { recursive: true });
      await writeFile(join(folder, file), text);
    }
    return cli(['schedule', '--list'], { cwd: folder });
  }

  test('in jobs, rules, templates and queries: one run names them all', async () => {
    const { exit, stderr } = await listSchedule({
      'jobs/weekly.yaml': 'schedule: "0 3 * * 1"\nreports: [overvew]\n',
      'jobs/by-hand.yaml': 'reports: [drifft]\n',
      'queries/findings/mine.sql':
        '-- rule: Mine.\n-- severity: info\n-- sources: workspaces\n-- subject: workspace\nselect nothing from workspaces\n',
      'queries/findings/headless.sql': 'select 1\n',
      'reports/overview.hbs': '{{#if}}',
      'queries/reports/drift/summary.sql': 'select nothing',
    });
    for (const said of [
      /unknown report overvew/u,
      /jobs\/by-hand\.yaml: reports: unknown report drifft; did you mean drift\?/u,
      /mine: .*nothing/u,
      /headless\.sql: the header line/u,
      /reports: overview/u,
      /reports: drift/u,
    ])
      expect(stderr).toMatch(said);
    expect(exit).toBe(2);
  });

  test.each([
    ['jobs/weekly.yaml', 'schedule: "0 3 * * 1"\nreports: [overvew]\n', 'unknown report overvew'],
    ['jobs/by-hand.yaml', 'reports: [drifft]\n', 'unknown report drifft'],
    ['reports/partials/lead.hbs', '{{#if}}', 'reports: '],
  ])('in %s alone', async (file, text, said) => {
    const { exit, stderr } = await listSchedule({ [file]: text });
    expect(stderr).toContain(said);
    expect(exit).toBe(2);
  });

  test('a folder in place of a template or of a partial is named', async () => {
    for (const file of ['reports/drift.hbs', 'reports/partials/lead.hbs']) {
      await mkdir(join(cwd, file), { recursive: true });
      const { exit, stderr } = await cli(['report', 'drift'], { cwd });
      await rm(join(cwd, file), { recursive: true });
      expect([exit, stderr]).toEqual([4, expect.stringContaining(`${file} cannot be read: `)]);
    }
  });

  test('what the package has is without one', async () => {
    expect(await cli(['schedule', '--list'], { cwd })).toMatchObject({ exit: 0, stderr: '' });
  });
});

test('a query about a time before the first pull is refused, as a table function too', async () => {
  for (const words of [
    ['--as-of', '2020-01-01', 'from workspaces'],
    ["from workspaces_at('2020-01-01')"],
    ["select count(*) from workspaces_at(date '2020-01-01')"],
  ]) {
    const { exit, stderr } = await cli(['sql', ...words], { cwd });
    expect([exit, stderr]).toEqual([2, expect.stringContaining(`is before the first pull, ${AT}`)]);
  }
  expect((await cli(['sql', `select count(*) as n from workspaces_at('${AT}')`], { cwd })).stdout).toContain('n\n1\n');
});

test('a target that is not configured is named as such', async () => {
  const { exit, stderr } = await cli(['show', 'ws-1', '--target', 'acne'], { cwd });
  expect([exit, stderr]).toEqual([2, 'error: unknown target acne\n  did you mean acme?\n']);
});

test('a subject is found by its beginning and by a part of its name', async () => {
  for (const part of ['a-workspace', 'longer-than-most', 'WS-1']) {
    expect((await cli(['show', part], { cwd })).stdout).toContain(LONG);
  }
});

test('a port that is used or is none is one line', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  try {
    const { exit, stderr } = await cli(['sandbox', '--port', String(port)], { cwd });
    expect([exit, stderr]).toEqual([
      2,
      `error: cannot listen on port ${port}, which is in use\n  give another --port\n`,
    ]);
    for (const command of ['sandbox', 'serve']) {
      expect(await cli([command, '--port', '70000'], { cwd })).toMatchObject({ exit: 2 });
    }
  } finally {
    server.close();
  }
});

test.skipIf(process.platform !== 'linux')(
  'a folder below a place where nothing can be made is refused (skipped where there is no /proc)',
  async () => {
    await expect(makeFolder('/proc/nothing/below')).rejects.toThrow();
    const folder = await tempFolder();
    const deep = (name: string) => makeFolder(join(folder, 'a', 'b', 'c', 'd', name));
    await Promise.all(['1', '2', '3', '4', '5', '6', '1', '1'].map(deep));
  },
);

test.skipIf(process.getuid?.() === 0)(
  'a warehouse that may not be read is not said to be missing (skipped for root, who reads every file)',
  async () => {
    await chmod(join(cwd, 'data', 'warehouse.duckdb'), 0o000);
    const { exit, stderr } = await cli(['findings'], { cwd });
    await chmod(join(cwd, 'data', 'warehouse.duckdb'), 0o400);
    expect([exit, stderr]).toEqual([3, expect.stringContaining('cannot be read by this account')]);
  },
);

test('the shell takes what people type elsewhere', () => {
  expect(['\\d', '\\d agents', 'exit', 'quit;', '\\q'].map(toCommand)).toEqual([
    '.tables',
    '.schema agents',
    '.quit',
    '.quit',
    '.quit',
  ]);
  expect(['select 1', 'from quit', 'exits'].map(toCommand)).toEqual([undefined, undefined, undefined]);
});

test('the help begins with first steps, and groups the commands', async () => {
  const { stdout } = await cli(['--help'], { cwd });
  expect(stdout).toMatch(/First steps:\n +init.*\n[\s\S]*Every night:\n +pull/u);
  expect(stdout).toContain('To see it work:     tidemark demo\n');
});
