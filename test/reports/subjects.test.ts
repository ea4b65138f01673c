import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTargets } from '../../src/config/config.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { renderReports } from '../../src/tell/reports/index.ts';
import { createProductLinker } from '../../src/tell/reports/links.ts';
import { readSubjects, type SubjectView, toSubjectView } from '../../src/tell/reports/subject-view.ts';
import { selectSubjects, subjectPath, toSlug } from '../../src/tell/reports/subjects.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { setEarlierVersion } from '../helpers/change-warehouse.ts';
import { createMailWarehouse, type MailWarehouse, PLATFORM } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';
import { share, tempFolder } from '../helpers/temp.ts';

const day = (number: number) => `2026-11-0${number}T02:15:00Z`;

let warehouse: MailWarehouse;
beforeEach(async () => {
  warehouse = await createMailWarehouse();
});

const pull = (number: number, rows: readonly object[] | 'failed' | 'quarantined' | 'left-out') =>
  warehouse.pull(day(number), { workspaces: rows as never });

/** A pull after which the rules are evaluated. */
async function night(number: number, rows: readonly object[]) {
  await pull(number, rows);
  await warehouse.evaluate(day(number));
}

async function view(type: string, id: string, at: number, limit = 1000): Promise<SubjectView> {
  const options = { ...warehouse, asOf: new Date(day(at)) };
  const selection = await selectSubjects(options, { limit });
  const linker = createProductLinker(createTargets([PLATFORM]));
  for await (const data of readSubjects(options, selection.pages)) {
    if (data.page.type === type && data.page.id === id) return toSubjectView(data, { linker, selection, guide: [] });
  }
  throw new Error(`no page of ${type} ${id}`);
}

/** The timeline as lines `DAY KIND TITLE: FIELD BEFORE → AFTER`. */
const lines = ({ timeline }: SubjectView) =>
  timeline.map(({ at, kind, title, changes }) => {
    const changed = changes.map(({ field, before, after }) => `${field} ${before} → ${after}`).join(', ');
    return `${at.slice(8, 10)} ${kind} ${title}${changed && `: ${changed}`}`;
  });

describe('the timeline of a subject', () => {
  it('shows what changed, disappearances and returns, findings, and periods without a complete pull', async () => {
    await night(1, [workspace('api', { current_rum_count: 1200 })]);
    await night(2, [workspace('api', { current_rum_count: 1201, drifted: true, resources_drifted: 3 })]);
    await pull(3, 'failed');
    await pull(4, 'quarantined');
    await night(5, [workspace('other')]);
    await pull(6, [workspace('api', { vcs_repo_identifier: 'acme/api' })]);
    expect(lines(await view('workspace', 'ws-api', 6))).toEqual([
      '06 history Reported again: current_rum_count 1,201 → 10, drifted yes → no, resources_drifted 3 → 0, vcs_repo_identifier acme/core → acme/api',
      '05 history No longer reported',
      '05 finding Finding ended with its subject, which was deleted: drifted-workspace (warning)',
      '03 gap No complete pull of workspaces to 2026-11-05 02:15',
      '02 history Changed: current_rum_count 1,200 → 1,201, drifted no → yes, resources_drifted 0 → 3',
      '02 finding New finding: drifted-workspace (warning)',
      '01 history Present in the first pull',
    ]);
  });

  it('shows a subject that is new after the first pull, and nothing that is later than the page', async () => {
    await pull(1, [workspace('api')]);
    await pull(2, [workspace('api'), workspace('web')]);
    await pull(3, [workspace('api')]);
    const second = await view('workspace', 'ws-web', 2);
    expect(lines(second)).toEqual(['02 history Appeared']);
    expect(second.summary).toBe('No open finding.');
    const third = await view('workspace', 'ws-web', 3);
    expect(lines(third)[0]).toBe('03 history No longer reported');
    expect(third.summary).toBe('Not reported since 2026-11-03 02:15. No open finding.');
  });

  it('tells changes of long texts within little memory, also behind the part that it shows', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `w${index}`);
    const rows = (at: number) => names.map((name) => workspace(name, { current_rum_count: at }));
    for (const number of [1, 2, 3]) await pull(number, rows(number));
    const { database } = warehouse;
    await database.run(
      "update workspaces_history set vcs_repo_identifier = repeat('x', 4000000) || valid_from where workspace_name <> 'w0'",
    );
    await database.run(
      "update workspaces_history set vcs_repo_identifier = repeat('x', 3000) || valid_from where workspace_name = 'w0'",
    );
    await database.run("set memory_limit = '350MB'");
    const shown = await view('workspace', 'ws-w1', 3);
    expect(shown.timeline.map(({ changes }) => changes.map(({ field }) => field))).toEqual([
      ['current_rum_count', 'vcs_repo_identifier'],
      ['current_rum_count', 'vcs_repo_identifier'],
      [],
    ]);
    const [change] = (await view('workspace', 'ws-w0', 3)).timeline[0]?.changes.slice(1) ?? [];
    expect([change?.before, change?.after]).toEqual([`${'x'.repeat(300)}…`, `${'x'.repeat(300)}…`]);
  });

  it('says that the data is stale while the last pull is not complete, and why', async () => {
    await night(1, [workspace('api', { drifted: true, resources_drifted: 1 })]);
    expect((await view('workspace', 'ws-api', 1)).stale).toBe('');
    await pull(2, 'failed');
    const { stale, timeline, summary } = await view('workspace', 'ws-api', 2);
    expect(stale).toContain('the last pull failed: the service answered 502');
    expect(timeline[0]?.title).toBe('No complete pull of workspaces to now');
    expect(summary).toBe('1 open finding.');
    await pull(3, [workspace('api')]);
    await pull(4, 'left-out');
    const left = await view('workspace', 'ws-api', 4);
    expect(left.stale).toMatch(/^The last complete pull of workspaces is older than .*; .* is left out by the config/u);
  });

  it('says since when a finding is not assessed, also where its pull is complete', async () => {
    await night(1, [workspace('api', { drifted: true, resources_drifted: 1 })]);
    await night(2, [workspace('api', { drifted: null, resources_drifted: null })]);
    const at = async (number: number) => (await view('workspace', 'ws-api', number)).findings;
    expect(await at(1)).toMatchObject([{ rule: 'drifted-workspace', unassessed: '' }]);
    expect(await at(2)).toMatchObject([{ rule: 'drifted-workspace', unassessed: '2026-11-02 02:15' }]);
    const options = warehouse.options(day(2), { names: ['drift'], subjectPages: 1 });
    await renderReports(options);
    const page = await readFile(
      join(options.out, subjectPath({ target: 'acme', type: 'workspace', id: 'ws-api' })),
      'utf8',
    );
    expect(page).toContain(
      'open since 2026-11-01 02:15, first seen 2026-11-01 02:15, not assessed since 2026-11-02 02:15',
    );
  });

  it('shows actions with who approved them', async () => {
    await night(1, [workspace('api', { drifted: true, resources_drifted: 1 })]);
    await warehouse.database.run(
      `insert into actions (target, plan_id, action_id, playbook, operation, finding_id, status, approved_by, started_at)
       select target, 'p-1', 'a-1', 'pin-drift-view', 'platform.views.create', finding_id, 'applied', 'ana', $at::timestamptz
       from findings where rule = 'drifted-workspace'`,
      { at: '2026-11-01T09:00:00Z' },
    );
    const { timeline, actions } = await view('workspace', 'ws-api', 2);
    expect(timeline[0]).toMatchObject({
      title: 'Action applied: platform.views.create',
      note: 'Playbook pin-drift-view, approved by ana',
    });
    expect(actions).toHaveLength(1);
  });

  it('is limited to 50 times, and says how many are not shown', async () => {
    const at = (minute: number) => new Date(Date.parse(day(1)) + minute * 60_000).toISOString();
    await warehouse.pull(at(0), { workspaces: [workspace('api', { current_rum_count: 0 })] });
    // as 52 more pulls leave it, each of which changes the workspace
    const start = '$start::timestamptz';
    for (const sql of [
      `insert into pulls by name select * exclude (n) replace ('run-' || n as run_id, as_of + to_minutes(n) as as_of, started_at + to_minutes(n) as started_at)
       from pulls cross join range(1, 53) as more (n)`,
      `insert into workspaces_history by name select * exclude (n) replace (n as current_rum_count, ${start} + to_minutes(n) as valid_from,
       if(n = 52, null, ${start} + to_minutes(n + 1)) as valid_to) from workspaces_history, range(1, 53) as more (n)`,
      `update workspaces_history set valid_to = ${start} + to_minutes(1) where current_rum_count = 0`,
    ])
      await warehouse.database.run(sql, { start: at(0) });
    const shown = await view('workspace', 'ws-api', 2);
    expect(shown.timeline).toHaveLength(50);
    expect(shown.earlier).toBe(3);
    expect(shown.timeline.at(-1)?.changes[0]).toEqual({ field: 'current_rum_count', before: '2', after: '3' });
  });
});

describe('the page of a subject', () => {
  it('shows every column with its meaning, JSON with indentation, and related subjects', async () => {
    await warehouse.pull(day(1), {
      workspaces: [workspace('api', { extra: { team: { name: 'core' } }, current_run_external_id: 'run-1' })],
      agent_pools: [{ pool_id: 'apool-1', name: 'eu' }],
      agent_pool_workspaces: [{ pool_id: 'apool-1', workspace_id: 'ws-api', relation: 'attached' }],
    });
    const { present, related, product, place } = await view('workspace', 'ws-api', 1);
    expect(present).toContainEqual({
      name: 'current_rum_count',
      meaning: 'resources under management',
      value: '10',
      block: false,
      href: null,
    });
    expect(present).toContainEqual(
      expect.objectContaining({ value: 'run-1', href: 'https://x.example/app/acme/workspaces/api/runs/run-1' }),
    );
    expect(present).toContainEqual(
      expect.objectContaining({ name: 'extra', block: true, value: '{\n  "team": {\n    "name": "core"\n  }\n}' }),
    );
    const pool = subjectPath({ target: 'acme', type: 'agent pool', id: 'apool-1' }).replace('subjects/', '');
    expect(related).toContainEqual({
      relation: 'agent pool, attached',
      more: 0,
      subjects: [{ name: 'eu', href: pool }],
    });
    expect(product).toEqual({ url: 'https://x.example/app/acme/workspaces/api', host: 'x.example' });
    expect(place).toBe('core');
  });

  it('of a workspace has the findings that name it instead of its ID', async () => {
    await warehouse.pull(day(1), {
      workspaces: [workspace('api'), workspace('web')],
      providers: [
        { name: 'aws', source: 'hashicorp/aws', version: '4.0.0', workspace_count: 1, workspaces: 'api' },
        { name: 'aws', source: 'hashicorp/aws', version: '5.0.0', workspace_count: 1, workspaces: 'web' },
      ],
    });
    await warehouse.evaluate(day(1));
    expect((await view('workspace', 'ws-api', 1)).findings).toMatchObject([{ rule: 'provider-sprawl' }]);
    expect((await view('workspace', 'ws-web', 1)).findings).toEqual([]);
  });

  const hostile = ['<script>alert(1)</script>', '"><img src=x onerror=alert(1)>', '../../etc/passwd', '{{7*7}}'];
  const hostilePages = share(async (cleanup) => {
    const one = await createMailWarehouse(undefined, undefined, cleanup);
    await one.pull(day(1), {
      workspaces: hostile.map((name) =>
        workspace('x', { external_id: name, workspace_name: name, drifted: true, vcs_repo_identifier: name }),
      ),
    });
    await one.evaluate(day(1));
    const options = one.options(day(1), { names: ['drift'], targets: createTargets([PLATFORM]) });
    await renderReports(options);
    return options;
  });

  it.each(hostile)('of %j shows the name as text, below the folder of the subjects', async (name) => {
    const options = await hostilePages();
    const path = subjectPath({ target: 'acme', type: 'workspace', id: name });
    expect(await readdir(join(options.out, 'subjects'))).toContain(path.replace('subjects/', ''));
    const page = await readFile(join(options.out, path), 'utf8');
    expect(page).not.toMatch(/<script>alert|<img|"><img/u);
    expect(page.match(/<script>/gu)).toHaveLength(1);
    expect(await readFile(join(options.out, 'subjects.html'), 'utf8')).not.toMatch(/<script>alert|<img/u);
  });
});

describe('the selected subjects', () => {
  it('are those with the worst findings, then projects, then those that changed last', async () => {
    await pull(1, [workspace('old'), workspace('changing'), workspace('drifting')]);
    await night(2, [
      workspace('old'),
      workspace('changing', { current_rum_count: 7 }),
      workspace('drifting', { drifted: true }),
    ]);
    const select = async (limit: number) => {
      const { pages, present } = await selectSubjects({ ...warehouse, asOf: new Date(day(2)) }, { limit });
      return { present, names: pages.map(({ name }) => name) };
    };
    expect(await select(1)).toEqual({ present: 4, names: ['drifting'] });
    expect((await select(2)).names).toEqual(['drifting', 'core']);
    expect((await select(3)).names).toEqual(['changing', 'drifting', 'core']);
    expect((await select(0)).names).toEqual([]);
    expect((await select(10)).names).toEqual(['changing', 'drifting', 'old', 'core']);
  });

  it('are of the kinds whose table the warehouse has', async () => {
    await warehouse.pull(day(1), {
      workspaces: [workspace('api')],
      servers: [{ product: 'vault', version: '1.20.3' }],
    });
    const select = async () => {
      const { pages } = await selectSubjects({ ...warehouse, asOf: new Date(day(1)) }, { limit: 10 });
      return pages.map(({ type, name }) => `${type} ${name}`);
    };
    expect(await select()).toEqual(['workspace api', 'project core', 'server acme']);
    for (const name of ['servers', 'authority_certificates'])
      await warehouse.database.run(`drop table ${name}_history cascade`);
    await setEarlierVersion(warehouse.database);
    expect(await select()).toEqual(['workspace api', 'project core']);
  });

  it('lose their page when they are no longer selected, and the list says how many have none', async () => {
    await night(1, [workspace('old'), workspace('drifting', { drifted: true })]);
    const files = async (subjectPages: number) => {
      const options = warehouse.options(day(1), { names: ['drift'], subjectPages });
      await renderReports(options);
      return { pages: await readdir(join(options.out, 'subjects')), out: options.out };
    };
    expect((await files(10)).pages).toHaveLength(3);
    const { pages, out } = await files(1);
    expect(pages).toEqual([
      subjectPath({ target: 'acme', type: 'workspace', id: 'ws-drifting' }).replace('subjects/', ''),
    ]);
    const list = await readFile(join(out, 'subjects.html'), 'utf8');
    expect(list).toContain('1 subject has a page. 2 subjects have none');
  });

  it('have a path that is safe in a file system', () => {
    const path = subjectPath({ target: 'acme', type: 'agent pool', id: 'A/b\0c …'.repeat(100) });
    expect(path).toMatch(/^subjects\/agent-pool-[a-z0-9-]{1,40}-[0-9a-f]{12}\.html$/u);
    expect(toSlug('数据')).toBe('x');
    const other = subjectPath({ target: 'acm', type: 'agent pool', id: 'eA/b\0c …'.repeat(100) });
    expect(other).not.toBe(path);
  });
});

describe('a cell that names a subject', () => {
  /** The links of the drift page, text → address. */
  async function driftLinks(out: string, folder = '.') {
    const page = await readFile(join(out, folder, 'drift.html'), 'utf8');
    return new Map([...page.matchAll(/<a href="([^"]*)">([^<]*)<\/a>/gu)].map(([, href, text]) => [text, href]));
  }

  it('links to the page of the subject, also from the archive, or to the product where it has none', async () => {
    await warehouse.pull(day(1), {
      workspaces: [
        workspace('api', { drifted: true, resources_drifted: 2 }),
        workspace('w e/b', { drifted: true, project_name: null, project_external_id: null }),
      ],
    });
    const options = warehouse.options(day(1), {
      names: ['drift'],
      subjectPages: 2,
      targets: createTargets([PLATFORM]),
    });
    await renderReports(options);
    const links = await driftLinks(options.out);
    const page = subjectPath({ target: 'acme', type: 'workspace', id: 'ws-api' });
    expect(links.get('api')).toBe(page);
    expect(await readdir(join(options.out, 'subjects'))).toContain(page.replace('subjects/', ''));
    // The archive links to the latest page.
    expect((await driftLinks(options.out, 'archive/2026-11-01')).get('api')).toBe(`../../${page}`);
    const index = await readFile(join(options.out, 'archive/2026-11-01/index.html'), 'utf8');
    expect(index).toContain('href="../../subjects.html"');
    await renderReports({ ...options, subjectPages: 0 });
    expect(Object.fromEntries(await driftLinks(options.out))).toMatchObject({
      api: 'https://x.example/app/acme/workspaces/api',
      'w e/b': 'https://x.example/app/acme/workspaces/w%20e%2Fb',
    });
    await renderReports({ ...options, subjectPages: 0, targets: [] });
    expect((await driftLinks(options.out)).get('api')).toBeUndefined();
  });
});

it('a statement of subjects that a user overrides fails as the report `subjects`, and the reports are written without links', async () => {
  const root = await tempFolder();
  await mkdir(join(root, 'queries', 'subjects'), { recursive: true });
  await writeFile(
    join(root, 'queries', 'subjects', 'key.sql'),
    '-- subject: key\n-- table: keys\nselect wrong from keys_history',
  );
  const roots = [root, PACKAGE_ROOT];
  const failed: string[] = [];
  const options = warehouse.options(day(1), { names: ['drift'], files: createSqlFiles(roots) });
  await renderReports({ ...options, onFailure: (report, error) => failed.push(`${report}: ${error.message}`) });
  expect(failed).toEqual([expect.stringMatching(/^subjects: queries\/subjects\/.*wrong/u)]);
  expect(await readdir(options.out)).toContain('drift.html');
});

it('a page that cannot be written is one error, also while the rows of other subjects are read', async () => {
  await pull(1, [workspace('api'), workspace('web')]);
  const options = warehouse.options(day(1), { names: ['drift'] });
  const page = subjectPath({ target: 'acme', type: 'workspace', id: 'ws-api' });
  await mkdir(join(options.out, page), { recursive: true });
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  const failed: string[] = [];
  await renderReports({ ...options, onFailure: (report, error) => failed.push(`${report}: ${error.message}`) }).catch(
    (error: Error) => failed.push(error.message),
  );
  process.off('unhandledRejection', note);
  expect(failed).toEqual([expect.stringContaining('EISDIR')]);
  expect(unhandled).toEqual([]);
});
