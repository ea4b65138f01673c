import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { sources } from '../../src/extract/sources/index.ts';
import { evaluateFindings } from '../../src/tell/findings/evaluate.ts';
import { type Rule, readRules, runRules } from '../../src/tell/findings/rules.ts';
import { openDatabase } from '../../src/warehouse/database.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { loadTables } from '../../src/warehouse/tables.ts';
import { createFindingsWarehouse, THRESHOLDS } from '../helpers/findings-warehouse.ts';

const FIRST = '2026-11-01T02:15:00Z';
const SECOND = '2026-11-02T02:15:00Z';
const THIRD = '2026-11-03T02:15:00Z';

/** A folder with custom rules. */
async function ownRules(rules: Readonly<Record<string, string>>): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'tidemark-rules-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  await mkdir(join(root, 'queries/findings'), { recursive: true });
  for (const [name, sql] of Object.entries(rules)) await writeFile(join(root, `queries/findings/${name}.sql`), sql);
  return root;
}

const HEAD = '-- rule: A rule of a user.\n-- severity: warning\n-- sources: workspaces\n-- subject: workspace\n';
const pullWorkspaces = (ids: readonly string[]) => ({ workspaces: ids.map((external_id) => ({ external_id })) });

test('a rule that does not end fails, and the next one is evaluated', async () => {
  const endless = `${HEAD}-- many: w{of}\n-- repair: r\nselect sum(hash(range))::varchar as title from range(9223372036854775807)`;
  const files = createSqlFiles([await ownRules({ endless }), PACKAGE_ROOT]);
  const rules = readRules(files).rules.filter(({ name }) => name === 'endless');
  const database = await openDatabase(':memory:');
  onTestFinished(() => database.close());
  await database.script(files.read('warehouse/candidates'));
  const next = { ...rules[0], name: 'next', sql: `select 'acme' as target` } as Rule;
  const error = 'queries/findings/endless.sql: it was stopped after 0.1 s';
  expect(await runRules(database, files, rules, {}, 100)).toEqual([{ rule: 'endless', error }]);
  expect(await runRules(database, files, [next], {})).toEqual([]);
  expect(await database.rows('select rule from candidates')).toEqual([{ rule: 'next' }]);
});

test('the sources of every rule exist', async () => {
  const { rules } = readRules(createSqlFiles([PACKAGE_ROOT]));
  const known = sources.map(({ name }) => name);
  for (const rule of rules)
    expect(known, rule.name).toEqual(expect.arrayContaining([...rule.sources, ...rule.elsewhere]));
});

test('every rule names all sources whose tables it reads', async () => {
  const files = createSqlFiles([PACKAGE_ROOT]);
  const tables = await loadTables(files);
  const labels = ['agent_pools']; // dead-agent and silent-agent read a pool's name only
  for (const rule of readRules(files).rules) {
    const read = [...rule.sql.matchAll(/\b(?:from|join) (\w+)/gu)].map(
      ([, name = '']) => tables.get(name.replace(/_history$/u, ''))?.source,
    );
    const missing = new Set(read.filter((source) => source && ![...rule.sources, ...rule.elsewhere].includes(source)));
    if (['dead-agent', 'silent-agent'].includes(rule.name)) for (const label of labels) missing.delete(label);
    expect([...missing], rule.name).toEqual([]);
  }
});

test('a custom rule is found beside the configuration, and overrides one of the same name', async () => {
  const root = await ownRules({
    'my-rule': `${HEAD}select target, external_id as subject_id, 'seen' as title from workspaces;\n`,
    'drifted-workspace': `${HEAD}select target, external_id as subject_id, 'mine' as title from workspaces`,
  });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces', pullWorkspaces(['ws-1']));
  expect(await warehouse.evaluate(FIRST)).toMatchObject({ failed: [] });
  expect(await warehouse.findings('my-rule')).toMatchObject([
    {
      subject_id: 'ws-1',
      subject_type: 'workspace',
      severity: 'warning',
      state: 'open',
      detail: null,
      group_key: null,
    },
  ]);
  expect(await warehouse.findings('drifted-workspace')).toMatchObject([{ title: 'mine' }]);
});

test('a rule added later starts with its own baseline', async () => {
  const rules = {
    'my-rule': `${HEAD}select target, external_id as subject_id, 'seen' as title from workspaces where false`,
  };
  const root = await ownRules(rules);
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces', pullWorkspaces(['ws-1']));
  await warehouse.evaluate(FIRST);
  await writeFile(join(root, 'queries/findings/later.sql'), rules['my-rule'].replace('where false', ''));
  await warehouse.pull(SECOND, 'acme', 'workspaces', pullWorkspaces(['ws-1']));
  await warehouse.evaluate(SECOND);
  expect(await warehouse.findings('later')).toMatchObject([{ state: 'open', first_seen: SECOND }]);
});

test('a rule that fails is reported and keeps its findings; other rules still run', async () => {
  const good = `${HEAD}select target, external_id as subject_id, 'seen' as title from workspaces`;
  const root = await ownRules({ own: good });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces', pullWorkspaces(['ws-1']));
  await warehouse.evaluate(FIRST);

  await writeFile(
    join(root, 'queries/findings/own.sql'),
    `${HEAD}select target, nothing as subject_id from workspaces`,
  );
  await warehouse.pull(SECOND, 'acme', 'workspaces', { workspaces: [{ external_id: 'ws-1', drifted: true }] });
  const files = createSqlFiles([root, PACKAGE_ROOT]); // reads the rules again
  const fresh = await evaluateFindings({ ...warehouse, files, asOf: new Date(SECOND), thresholds: THRESHOLDS });
  expect(fresh.failed).toEqual([{ rule: 'own', error: expect.stringContaining('nothing') }]);
  expect(await warehouse.findings('own')).toMatchObject([{ state: 'open', detail: { unassessed: 'the rule failed' } }]);
  expect(await warehouse.findings('drifted-workspace')).toMatchObject([{ state: 'new' }]);
});

test('a rule with invalid rows is refused, with the reason', async () => {
  const wrong: Readonly<Record<string, readonly [sql: string, error: string]>> = {
    'no-target': ["select null as target, 'x' as subject_id, 'x' as title", 'returns a row without target'],
    'no-subject': ["select 'acme' as target, null as subject_id, 'x' as title", 'returns a row without subject_id'],
    'no-title': ["select 'acme' as target, 'x' as subject_id, null as title", 'returns a row without title'],
    dire: [
      "select 'acme' as target, 'x' as subject_id, 'x' as title, 'dire' as severity",
      'returns a row with the severity `dire`',
    ],
    'no-scope': [
      "select 'acme' as target, null as subject_id, 'x' as title, true as unknown",
      'returns an unknown row with neither subject_id nor detail',
    ],
    'odd-column': ["select 'acme' as target, 'x' as subject_id, 'x' as title, 1 as colour", 'colour'],
    'odd-parameter': [
      "select 'acme' as target, 'x' as subject_id, $unheard_of as title",
      'the query uses $unheard_of, which has no value',
    ],
  };
  const root = await ownRules(Object.fromEntries(Object.entries(wrong).map(([name, [sql]]) => [name, HEAD + sql])));
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces');
  const { failed, open } = await warehouse.evaluate(FIRST);
  expect(open).toBe(0);
  const errors = Object.fromEntries(failed.map(({ rule, error }) => [rule, error]));
  for (const [name, [, error]] of Object.entries(wrong)) expect(errors[name], name).toContain(error);
  expect(failed).toHaveLength(Object.keys(wrong).length);
});

test('an error of a rule names its file and the line', async () => {
  const root = await ownRules({
    own: `${HEAD}select\n  target,\n  nothing as subject_id,\n  'x' as title\nfrom workspaces`,
  });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces');
  const { failed } = await warehouse.evaluate(FIRST);
  expect(failed.map(({ error }) => error)).toEqual([
    expect.stringMatching(/^queries\/findings\/own\.sql:7: Binder Error: .*"nothing"/u),
  ]);
});

test('a subject that a rule names twice counts once, with the higher severity', async () => {
  const twice = `select 'acme' as target, 'x' as subject_id, unnest(['mild', 'bad']) as title, unnest(['info', 'critical']) as severity`;
  const root = await ownRules({ own: HEAD + twice });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces');
  await warehouse.evaluate(FIRST);
  expect(await warehouse.findings('own')).toMatchObject([{ title: 'bad', severity: 'critical' }]);
});

test('a rule runs only once a target has all of its sources', async () => {
  const broken = `${HEAD.replace('workspaces', 'workspaces, agents')}select nothing`;
  const warehouse = await createFindingsWarehouse({ roots: [await ownRules({ own: broken })] });
  await warehouse.pull(FIRST, 'acme', 'workspaces');
  await warehouse.pull(FIRST, 'other', 'agents');
  expect((await warehouse.evaluate(FIRST)).failed).toEqual([]);
  await warehouse.pull(SECOND, 'acme', 'agents');
  expect((await warehouse.evaluate(SECOND)).failed).toMatchObject([{ rule: 'own' }]);
});

test.each([
  [HEAD.replace('-- severity: warning\n', ''), 'the header line `-- severity: …` is missing'],
  [HEAD.replace('warning', 'dire'), 'the header line `-- severity: …` is not one of info, warning, critical'],
  [HEAD.replace('-- sources: workspaces\n', ''), 'the header line `-- sources: …` is missing'],
  [`${HEAD}-- prove: complete listing of workspaces\n`, 'unknown header line `-- prove: …`: did you mean proves?'],
  [
    `${HEAD}-- needs: drift\n`,
    'the header line `-- needs: …` names drift, which is no column of the tables of its sources: did you mean drifted?',
  ],
])('a head without what it must say is refused with the file and the line', async (head, words) => {
  const root = await ownRules({ own: `${head}select 1` });
  const error = `queries/findings/own.sql: ${words}`;
  expect(readRules(createSqlFiles([root, PACKAGE_ROOT])).invalid).toEqual([{ rule: 'own', error }]);
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces', { workspaces: [{ external_id: 'ws-1', drifted: true }] });
  expect(await warehouse.evaluate(FIRST)).toMatchObject({ failed: [{ rule: 'own', error }], open: 1 });
});

test('other comments with a colon are for readers', async () => {
  const comments = [
    '-- Note: the explorer is asked first.',
    '-- https://wiki.acme.example/rules',
    '-- where the listing is whole, this is',
    '-- provable: all of them are listed',
    '-- owner: platform',
    '-- parameters: $as_of',
  ];
  const root = await ownRules({ own: `${HEAD}${comments.join('\n')}\nselect 1 -- prove: nothing\n-- prove: nothing` });
  expect(readRules(createSqlFiles([root, PACKAGE_ROOT])).invalid).toEqual([]);
});

test('a rule whose head cannot be read any more is not assessed, and its finding says so until it can be read again', async () => {
  const rule = `${HEAD}select target, external_id as subject_id, 'x' as title from workspaces`;
  const root = await ownRules({ own: rule });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  const gaps = async () =>
    warehouse.database.rows("select severity, reason from unassessed_rules where rule = 'own' and ended_at is null");
  const evaluate = async (asOf: string, text: string) => {
    await writeFile(join(root, 'queries/findings/own.sql'), text);
    await warehouse.pull(asOf, 'acme', 'workspaces', { workspaces: [{ external_id: 'ws-1' }] });
    const files = createSqlFiles([root, PACKAGE_ROOT]); // reads the rules again
    await evaluateFindings({ ...warehouse, files, asOf: new Date(asOf), thresholds: THRESHOLDS });
    return warehouse.findings('own');
  };
  expect(await evaluate(FIRST, rule)).toMatchObject([{ state: 'open', unassessed_since: null }]);
  expect(await evaluate(SECOND, rule.replace('-- severity: warning\n', ''))).toMatchObject([
    { state: 'open', unassessed_since: expect.anything() },
  ]);
  expect(await gaps()).toEqual([{ severity: 'critical', reason: 'the rule failed' }]);
  expect(await evaluate(THIRD, rule)).toMatchObject([{ state: 'open', unassessed_since: null }]);
  expect(await gaps()).toEqual([]);
});

test('each rule sees the same tables and macros, and one that fails does not stop the others', async () => {
  const seen = (title: string) => `${HEAD}select target, external_id as subject_id, ${title} as title from workspaces`;
  const root = await ownRules({
    'c-broken': seen('nothing'),
    'd-broken': seen('nothing'),
    'e-invalid': seen('null'),
    'f-macro': seen(`semver_key('1.2.3') || iso_time($as_of::timestamptz)`),
    'g-proofs': seen(`(select count(*) from listing_proofs)::varchar`),
    'h-proofs': seen(`(select count(*) from configured_targets)::varchar`),
  });
  const warehouse = await createFindingsWarehouse({ roots: [root] });
  await warehouse.pull(FIRST, 'acme', 'workspaces', pullWorkspaces(['ws-1', 'ws-2']));
  for (let times = 1; times <= 2; times++) {
    const { failed } = await warehouse.evaluate(FIRST);
    expect(failed.map(({ rule }) => rule)).toEqual(['c-broken', 'd-broken', 'e-invalid']);
  }
  const findings = await warehouse.database.rows('select rule, title from findings order by rule, subject_id');
  const titles = (rule: string) => findings.flatMap((row) => (row.rule === rule ? [String(row.title)] : []));
  for (const rule of ['f-macro', 'g-proofs', 'h-proofs']) expect(titles(rule)).toHaveLength(2);
});

test('a rule of which a run has pulled no source does not run, and its finding stays as it is', async () => {
  const [first, second] = ['2026-11-20T02:15:00Z', '2026-11-21T02:15:00Z'];
  const warehouse = await createFindingsWarehouse();
  const drifting = { external_id: 'ws-1', workspace_name: 'shop', drifted: true, resources_drifted: 1 };
  await warehouse.pull(first, 'acme', 'workspaces', { workspaces: [drifting] });
  await warehouse.evaluate(first);
  expect(await warehouse.seen('drifted-workspace')).toEqual({ found: ['ws-1'], unknown: [] });
  await warehouse.pull(second, 'vault', 'mesh_roles');
  await warehouse.evaluate(second);
  expect(await warehouse.seen('drifted-workspace')).toEqual({ found: [], unknown: [] });
  expect(await warehouse.findings('drifted-workspace')).toMatchObject([{ state: 'open', subject_id: 'ws-1' }]);
});
