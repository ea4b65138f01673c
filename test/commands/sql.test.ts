import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestProject, testProject } from '../helpers/test-project.ts';
import { shareSqlProject } from './sql-project.ts';

const project = shareSqlProject();
let place: TestProject;
const sql = (...words: string[]) => place.tidemark(['sql', ...words]);
beforeAll(async () => {
  place = await project();
});

describe('limits', () => {
  test('of time', async () => {
    const { exit, stderr } = await sql('select sleep_ms(60000)', '--timeout', '1');
    expect({ exit, stderr }).toEqual({ exit: 4, stderr: expect.stringContaining('stopped after 1 second') });
  });

  test('of memory and of temporary disk space', async () => {
    const config = await readFile(join(place.folder, 'tidemark.yaml'), 'utf8');
    await writeFile(join(place.folder, 'small.yaml'), `${config}\nsql: { memoryLimit: 40MB, temporaryLimit: 5MB }\n`);
    const large = `select count(*) from (select i, md5(i::varchar) || repeat('x', 200) as t from range(250000) r(i) order by t) where i >= 0 limit 3`;
    const { exit, stderr } = await place.tidemark(['--config', 'small.yaml', 'sql', `select * from (${large})`]);
    expect({ exit, stderr }).toEqual({
      exit: 4,
      stderr: expect.stringMatching(/needs more than (?:5MB of temporary disk space|40MB of memory)/u),
    });
  });

  test('of memory in which the warehouse does not open', async () => {
    const config = await readFile(join(place.folder, 'tidemark.yaml'), 'utf8');
    await writeFile(join(place.folder, 'none.yaml'), `${config}\nsql: { memoryLimit: 1KB }\n`);
    const { exit, stderr } = await place.tidemark(['--config', 'none.yaml', 'sql', 'select 1']);
    expect({ exit, stderr }).toEqual({
      exit: 4,
      stderr: expect.stringMatching(/^error: the query needs more than 1KB of memory\n.*\n$/u),
    });
  });

  test('a signal stops it with 130', async () => {
    const stop = new AbortController();
    const running = place.tidemark(['sql', 'select range from range(100000000)'], {
      signal: stop.signal,
      drain: async () => stop.abort(new Error('stopped by SIGINT')),
    });
    expect(await running).toMatchObject({ exit: 130, stderr: 'error: stopped by SIGINT\n' });
  });
});

test('a large table is printed with every row', async () => {
  const { exit, stdout } = await place.tidemark(['sql', 'select range as n from range(50000)']);
  expect(exit).toBe(0);
  expect(stdout.split('\n').slice(-3)).toEqual(['49999', '(50000 rows)', '']);
});

describe('the place of an error is that in the query,', () => {
  const lines = (text: string, before: number) => `${'\n'.repeat(before)}${text}`;
  test.each([
    ['syntax', 'selec 1', 1, 'selec'],
    ['a name', 'select nowhere', 1, 'nowhere'],
    ['a constant', "select 'a'::int", 1, "'a'"],
    ['a constant far below', lines("select 1,\n  'a'::int", 8), 10, "'a'"],
    ['a value', lines("select source::int from (select 'a' || range as source from range(3))", 2), 3, 'source::'],
  ])('%s', async (_, query, line, text) => {
    for (const words of [[], ['--json'], ['-o', 'place.parquet']]) {
      const { exit, stderr } = await sql(query, ...words);
      const [, number, before = '', shown = '', indent = ''] = /^LINE (\d+)(: )(.*)\n( *)\^/mu.exec(stderr) ?? [];
      expect({ exit, line: number }).toEqual({ exit: 4, line: String(line) });
      const caret = indent.length - `LINE ${line}${before}`.length;
      expect(caret, stderr).toBeGreaterThanOrEqual(shown.indexOf(text));
      expect(caret, stderr).toBeLessThan(shown.indexOf(text) + text.length + 2);
    }
  });
});

describe('where the query comes from', () => {
  test('an argument, a file, or stdin', async () => {
    await writeFile(join(place.folder, 'q.sql'), '-- a comment\nselect 1 as one;\n');
    const expected = [{ one: 1 }];
    expect((await sql('--json', 'select 1 as one')).json()).toEqual(expected);
    expect((await sql('--json', '-f', 'q.sql')).json()).toEqual(expected);
    for (const words of [['-f', '-'], []]) {
      const result = await place.tidemark(['sql', '--json', ...words], { stdin: 'select 1 as one' });
      expect(result.json()).toEqual(expected);
    }
  });

  test('an argument that begins with a comment', async () => {
    const { exit, stdout } = await sql('-- how many\nselect 42 as answer', '--format', 'csv');
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: 'answer\n42\n' });
    expect(await sql('--formt', 'csv')).toMatchObject({ exit: 2, stderr: expect.stringContaining('unknown option') });
  });

  test('not from two places, a missing file or a terminal', async () => {
    expect(await sql('select 1', '-f', 'q.sql')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('not both'),
    });
    expect(await sql('-f', 'none.sql')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('none.sql does not exist'),
    });
    const terminal = await place.tidemark(['sql'], { stdinIsTerminal: true });
    expect(terminal).toMatchObject({ exit: 2, stderr: expect.stringContaining('no query given') });
  });

  test('parameters are values, never SQL', async () => {
    const hostile = `'; drop table runs; --`;
    const { stdout } = await sql(
      '--json',
      'select $a as a, $b::int + 1 as b',
      '--param',
      `a=${hostile}`,
      '--param',
      'b=41',
    );
    expect(JSON.parse(stdout)).toEqual([{ a: hostile, b: 42 }]);
    for (const name of ['a', 'constructor'])
      expect(await sql(`select $${name}`)).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining(`give --param ${name}=VALUE`),
      });
    expect(await sql('select 1', '--param', 'x=1')).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('does not use $x'),
    });
  });
});

describe('--as-of', () => {
  test('shows every table as of that time', async () => {
    const names = async (...words: string[]) => (await sql('--json', ...words, 'select name from ca_roots')).json();
    expect(await names()).toEqual([{ name: 'later' }]);
    expect(await names('--as-of', '2026-10-01T12:00:00Z')).toEqual([{ name: 'a "b" |c|\n<d>, é' }]);
    const leaves = await sql(
      '--json',
      '--as-of',
      '2026-10-01T12:00:00+00:00',
      'select count(*) as n from leaf_certificates',
    );
    expect(leaves.json()).toEqual([{ n: 0 }]);
  });

  test.each([
    ['pulls', 'run_id', 1, 2],
    ['runs', 'run_id', 1, 2],
    ['changes', 'changes.at', 0, 1],
  ])('leaves out what the log %s has of later', async (log, column, then, now) => {
    const count = async (...words: string[]) =>
      (await sql('--json', ...words, `select count(distinct ${column}) as n from ${log}`)).json();
    expect(await count()).toEqual([{ n: now }]);
    expect(await count('--as-of', '2026-10-01T12:00:00Z')).toEqual([{ n: then }]);
  });

  test.each([
    'CA_Roots',
    '"ca_roots"',
    '(from ca_roots)',
    'main.ca_roots',
    'memory.main.ca_roots',
    "query_table('ca_' || 'roots')",
  ])('%s is never the present', async (table) => {
    const { stdout } = await sql('--json', '--as-of', '2026-10-01T12:00:00Z', `select name from ${table}`);
    expect(stdout).not.toContain('later');
  });

  test.each([
    ['monday', 'monday names no moment'],
    ['2026-09-30', 'is before the first pull'],
  ])('%s: %s', async (text, message) => {
    expect(await sql('--as-of', text, 'select 1')).toMatchObject({ exit: 2, stderr: expect.stringContaining(message) });
  });

  test('a day ends in the zone of the job `nightly`, whose other references need not resolve', async () => {
    const query = ['--as-of', '2026-10-01', '--json', 'select count(*) as n from leaf_certificates'];
    expect((await sql(...query)).json()).toEqual([{ n: 0 }]);
    await mkdir(join(place.folder, 'jobs'), { recursive: true });
    const job = join(place.folder, 'jobs', 'nightly.yaml');
    await writeFile(job, `timezone: Pacific/Pago_Pago # until 11:00 UTC\nheartbeat: https://\${NOT_SET}\n`);
    expect((await sql(...query)).json()).toEqual([{ n: 4 }]);
    await rm(job);
  });
});

describe('reads only the warehouse: everything else exits with 4', () => {
  test.each([
    'delete from pulls',
    `copy runs to 'stolen.csv'`,
    '',
    'select * from nowhere',
    `select * from read_text('tidemark.yaml')`,
    `from query('select 1')`,
  ])('%s', async (query) => {
    const before = await readdir(place.folder);
    const { exit, stdout, stderr } = await place.tidemark(['sql', '--json'], { stdin: query });
    expect({ exit, stdout }).toEqual({ exit: 4, stdout: '' });
    expect(stderr).toMatch(/^error: /u);
    expect(await readdir(place.folder)).toEqual(before);
  });

  test('a file beside the Parquet output cannot be read', async () => {
    const query = `select * from read_text('${join(place.folder, 'tidemark.yaml')}')`;
    expect((await sql(query, '--format', 'parquet', '-o', 'x.parquet')).exit).toBe(4);
    expect(existsSync(join(place.folder, 'x.parquet'))).toBe(false);
  });
});

test('show tables leaves out the tables that only store parts of others', async () => {
  for (const query of ['show tables', 'DESCRIBE;']) {
    const names = (await sql('--json', query)).json<{ name: string }[]>().map(({ name }) => name);
    expect(names).toContain('providers_history');
    expect(names).toContain('saved_view_rows');
    expect(names.filter((name) => /^schema_digest$|_members$|^providers_rows$/u.test(name))).toEqual([]);
  }
});

test('describe, summarize and explain are allowed', async () => {
  for (const query of ['describe workspaces', 'explain select 1']) {
    expect((await sql('--json', query)).exit, query).toBe(0);
  }
});

test('without a warehouse it says how to create one, and exits with 3', async () => {
  const empty = await testProject({ workspaces: 5 });
  const { exit, stderr } = await empty.tidemark(['sql', 'select 1']);
  expect(exit).toBe(3);
  expect(stderr).toContain('create one with `tidemark pull`');
});
