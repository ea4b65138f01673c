import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { allRows, call, json, ORGANIZATION, type Paged, type Row, refusal } from './platform-client.ts';

let sandbox: RunningSandbox;
let everyWorkspace: Row[];

beforeAll(async () => {
  sandbox = await startTestSandbox();
  everyWorkspace = await allRows(sandbox, 'type=workspaces');
});
afterAll(() => sandbox.close());

const explorer = (query: string) => call(sandbox, `${ORGANIZATION}/explorer?${query}`);
const csvOf = async (query: string): Promise<string> =>
  (await call(sandbox, `${ORGANIZATION}/explorer/export/csv?${query}`)).text();
const filter = (field: string, operator: string, value: string, index = 0): string =>
  `filter[${index}][${field}][${encodeURIComponent(operator)}][0]=${encodeURIComponent(value)}`;

describe('paging', () => {
  test('a page has 20 rows unless asked, absolute links and the counts of the whole', async () => {
    const page = await json<Paged>(explorer('type=workspaces&page[number]=3'));
    expect(page.data).toHaveLength(20);
    expect(page.meta.pagination).toEqual({
      'current-page': 3,
      'page-size': 20,
      'prev-page': 2,
      'next-page': 4,
      'total-pages': 12,
      'total-count': 240,
    });
    expect(page.links.next).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/api\/v2\/organizations\/acme\/explorer\?/);
    expect(new URL(page.links.next!).searchParams.get('page[number]')).toBe('4');
  });

  test('pages together are every workspace once', () => {
    expect(new Set(everyWorkspace.map(({ id }) => id)).size).toBe(240);
  });

  test('the first page has no link back and the last none on', async () => {
    const first = await json<Paged>(explorer('type=workspaces'));
    const last = await json<Paged>(explorer('type=workspaces&page[number]=12'));
    expect(first.links.prev).toBeNull();
    expect(last.links.next).toBeNull();
    expect((await json<Paged>(explorer('type=workspaces&page[number]=13'))).data).toEqual([]);
  });

  test('more than 100 rows on a page are never given', async () => {
    expect((await json<Paged>(explorer('type=workspaces&page[size]=5000'))).data).toHaveLength(100);
  });

  test('a page that is not a positive whole number is refused', async () => {
    for (const query of ['page[number]=0', 'page[size]=-1', 'page[size]=x', 'page[number]=1.5']) {
      expect((await explorer(`type=workspaces&${query}`)).status).toBe(400);
    }
  });
});

describe('rows', () => {
  test('attribute names have hyphens, but for current_rum_count, and times an offset', () => {
    const [row] = everyWorkspace;
    expect(row?.type).toBe('visibility-workspace');
    expect(Object.keys(row?.attributes ?? {})).toHaveLength(26);
    expect(row?.attributes).toHaveProperty('current_rum_count');
    expect(Object.keys(row?.attributes ?? {}).filter((name) => name.includes('_'))).toEqual(['current_rum_count']);
    expect(row?.attributes['workspace-updated-at']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/);
  });

  test('the derived views count and name the workspaces that use a version', async () => {
    const versions = await allRows(sandbox, 'type=tf_versions');
    for (const { type, attributes } of versions) {
      const users = everyWorkspace.filter((row) => row.attributes['workspace-iac-version'] === attributes.version);
      expect(type).toBe('visibility-tf-version');
      expect(attributes['workspace-count']).toBe(users.length);
      expect(attributes.workspaces).toBe(users.map((row) => row.attributes['workspace-name']).join(', '));
    }
    const counted = versions.reduce((sum, { attributes }) => sum + Number(attributes['workspace-count']), 0);
    const unset = everyWorkspace.filter((row) => row.attributes['workspace-iac-version'] === null).length;
    expect(counted + unset).toBe(240);
    expect(unset).toBeGreaterThan(0);
  });

  test('a workspace lists exactly the providers and modules that the views list it under', async () => {
    const fieldOf = { providers: 'providers', modules: 'modules' } as const;
    for (const view of ['providers', 'modules'] as const) {
      const listed = new Map<string, number>();
      for (const { attributes } of await allRows(sandbox, `type=${view}`)) {
        for (const name of String(attributes.workspaces).split(', ')) listed.set(name, (listed.get(name) ?? 0) + 1);
      }
      for (const { attributes } of everyWorkspace) {
        const cell = attributes[fieldOf[view]];
        const count = typeof cell === 'string' ? cell.split(', ').length : 0;
        expect(listed.get(String(attributes['workspace-name'])) ?? 0).toBe(count);
      }
    }
  });

  test('fields chooses the attributes', async () => {
    const { data } = await json<Paged>(explorer('type=workspaces&fields=workspace_name,drifted'));
    expect(Object.keys(data[0]?.attributes ?? {})).toEqual(['workspace-name', 'drifted']);
  });

  test('names made to do harm and missing values are among them', () => {
    const names = everyWorkspace.map((row) => String(row.attributes['workspace-name']));
    for (const harm of ['"', ',', '<img', '=HYPERLINK', '\n', '\r\n', '数据', 'שלום', '\u202E']) {
      expect(names.some((name) => name.includes(harm))).toBe(true);
    }
    for (const field of ['drifted', 'providers', 'modules', 'current-run-applied-at', 'vcs-repo-identifier']) {
      expect(everyWorkspace.some((row) => row.attributes[field] === null)).toBe(true);
    }
  });
});

describe('sorting', () => {
  test('ascending puts missing values last, descending first', async () => {
    const up = (await allRows(sandbox, 'type=workspaces&sort=workspace_iac_version')).map(
      (row) => row.attributes['workspace-iac-version'],
    );
    const texts = up.filter((value) => value !== null) as string[];
    expect(up.slice(0, texts.length)).toEqual([...texts].sort());
    const down = await allRows(sandbox, 'type=workspaces&sort=-workspace_iac_version');
    expect(down[0]?.attributes['workspace-iac-version']).toBeNull();
  });

  test('numbers are sorted as numbers', async () => {
    const counts = (await allRows(sandbox, 'type=providers&sort=-workspace_count')).map((row) =>
      Number(row.attributes['workspace-count']),
    );
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
  });

  test('a field that the view does not have is refused', async () => {
    const { status, error } = await refusal(explorer('type=tf_versions&sort=workspace_name'));
    expect(status).toBe(422);
    expect(error).toMatchObject({ status: '422', source: { parameter: 'sort' } });
  });
});

describe('filters', () => {
  type Attributes = Row['attributes'];
  const cutoff = '2025-01-01T00:00:00';
  const cases: readonly (readonly [string, string, string, (attributes: Attributes) => boolean])[] = [
    ['drifted', 'is', 'true', (a) => a.drifted === true],
    ['drifted', 'is', 'false', (a) => a.drifted === false],
    ['checks_failed', 'is', '0', (a) => a['checks-failed'] === 0],
    ['current_run_status', 'is', 'errored', (a) => a['current-run-status'] === 'errored'],
    ['checks_failed', 'is_not', '0', (a) => a['checks-failed'] !== 0],
    ['workspace_iac_version', 'is_not', '1.10.5', (a) => a['workspace-iac-version'] !== '1.10.5'],
    ['workspace_name', 'contains', 'prod', (a) => String(a['workspace-name']).includes('prod')],
    ['providers', 'does not contain', 'aws', (a) => a.providers === null || !String(a.providers).includes('aws')],
    ['providers', 'does_not_contain', 'aws', (a) => a.providers === null || !String(a.providers).includes('aws')],
    ['drifted', 'is_empty', '', (a) => a.drifted === null],
    ['modules', 'is_empty', '', (a) => a.modules === null],
    ['current_rum_count', 'is_not_empty', '', (a) => a.current_rum_count !== null],
    ['resources_drifted', 'gt', '3', (a) => Number(a['resources-drifted']) > 3],
    ['checks_passed', 'lt', '5', (a) => Number(a['checks-passed']) < 5],
    ['checks_passed', 'gteq', '5', (a) => Number(a['checks-passed']) >= 5],
    ['current_rum_count', 'lteq', '100', (a) => a.current_rum_count !== null && Number(a.current_rum_count) <= 100],
    ['workspace_created_at', 'is_before', cutoff, (a) => String(a['workspace-created-at']) < cutoff],
    ['workspace_created_at', 'is_after', cutoff, (a) => String(a['workspace-created-at']) > cutoff],
  ];

  test.each(cases)('%s %s %j keeps exactly the rows it describes', async (field, operator, value, keeps) => {
    const kept = await allRows(sandbox, `type=workspaces&${filter(field, operator, value)}`);
    const wanted = everyWorkspace.filter((row) => keeps(row.attributes)).map(({ id }) => id);
    expect(kept.map(({ id }) => id)).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(0);
    expect(wanted.length).toBeLessThan(240);
  });

  test('an offset in a time is respected', async () => {
    const [first] = everyWorkspace;
    const createdMs = Date.parse(String(first?.attributes['workspace-created-at']));
    const inTwoHoursZone = (ms: number): string => `${new Date(ms + 2 * 3_600_000).toISOString().slice(0, -1)}+02:00`;
    const createdBefore = (time: string) =>
      allRows(sandbox, `type=workspaces&${filter('workspace_created_at', 'is_before', time)}`);
    expect((await createdBefore(inTwoHoursZone(createdMs + 1))).map(({ id }) => id)).toContain(first?.id);
    expect((await createdBefore(inTwoHoursZone(createdMs))).map(({ id }) => id)).not.toContain(first?.id);
  });

  test('several filters must all hold', async () => {
    const query = `${filter('drifted', 'is', 'true')}&${filter('resources_drifted', 'gt', '5', 1)}`;
    const kept = await allRows(sandbox, `type=workspaces&${query}`);
    const wanted = everyWorkspace.filter(
      ({ attributes }) => attributes.drifted === true && Number(attributes['resources-drifted']) > 5,
    );
    expect(kept.map(({ id }) => id)).toEqual(wanted.map(({ id }) => id));
  });

  test("the specification's sample with one index for two fields is accepted", async () => {
    const query = `${filter('name', 'contains', 'aws')}&${filter('version', 'is', '5.9.0')}`;
    const rows = await allRows(sandbox, `type=providers&${query}`);
    expect(rows.map(({ attributes }) => attributes.version)).toEqual(['5.9.0']);
  });

  test('modules can be filtered by a registry type that is no column', async () => {
    const rows = await allRows(sandbox, `type=modules&${filter('registry_type', 'is', 'public')}`);
    expect(rows.length).toBeGreaterThan(0);
    expect(
      rows.every(({ attributes }) =>
        String(attributes.source).startsWith('registry.terraform.io/terraform-aws-modules/'),
      ),
    ).toBe(true);
    expect(rows[0]?.attributes).not.toHaveProperty('registry-type');
  });

  test.each([
    ['filter[0][drifted][is][1]=true', 400],
    ['filter[1][drifted][is][0]=true', 400],
    ['filter[x][drifted][is][0]=true', 400],
    ['filter[0][drifted][is]=true', 400],
    ['filter[0][drifted][is][0]=true&filter[2][checks_failed][gt][0]=1', 400],
    ['filter[0][drifted][is][0]=true&filter[0][drifted][is_empty][0]=', 400],
    ['filter[0][drifted][contains][0]=t', 422],
    ['filter[0][drifted][is_not][0]=true', 422],
    ['filter[0][drifted][is][0]=maybe', 422],
    ['filter[0][checks_failed][gt][0]=many', 422],
    ['filter[0][workspace_name][gt][0]=a', 422],
    ['filter[0][workspace_created_at][is][0]=2025-01-01', 422],
    ['filter[0][workspace_created_at][is_after][0]=yesterday', 422],
    ['filter[0][workspace_name][resembles][0]=a', 422],
    ['filter[0][toString][is][0]=a', 422],
    ['filter[0][workspace_name][toString][0]=a', 422],
    ['fields=workspace_name,nothing', 422],
  ])('%s is refused with %i and names the parameter', async (query, wanted) => {
    const { status, error } = await refusal(explorer(`type=workspaces&${query}`));
    expect(status).toBe(wanted);
    expect(error).toHaveProperty('source.parameter');
  });

  test('a missing or unknown type is refused', async () => {
    expect((await explorer('')).status).toBe(400);
    expect((await explorer('type=resources')).status).toBe(400);
  });
});

describe('CSV', () => {
  test('every value is quoted, null is "", and times have no fraction', async () => {
    const text = await csvOf('type=workspaces');
    const [header, first] = text.split('\n');
    expect(header).toMatch(/^all_checks_succeeded,current_rum_count,checks_errored,/);
    expect(first).toMatch(/^("([^"]|"")*",){25}"([^"]|"")*"$/);
    expect(first).toMatch(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"/);
    expect(text).not.toMatch(/,,|null,|\.\d{3}Z/);
    expect(text).toContain(',"",');
  });

  test('it holds what the pages hold, harmful names included', async () => {
    const rows = parse<Record<string, string>>(await csvOf('type=workspaces'), { columns: true });
    expect(rows).toHaveLength(240);
    for (const [index, row] of rows.entries()) {
      const { attributes } = everyWorkspace[index]!;
      expect(row.workspace_name).toBe(attributes['workspace-name']);
      expect(row.project_name).toBe(attributes['project-name']);
      expect(row.drifted).toBe(attributes.drifted === null ? '' : String(attributes.drifted));
      expect(row.current_rum_count).toBe(String(attributes.current_rum_count ?? ''));
    }
  });

  test('filter, sort and fields apply, and columns come in the order asked for', async () => {
    const query = `type=workspaces&fields=resources_drifted,workspace_name&sort=-resources_drifted`;
    const text = await csvOf(`${query}&${filter('drifted', 'is', 'true')}`);
    const rows = parse<Record<string, string>>(text, { columns: true });
    expect(text.split('\n')[0]).toBe('resources_drifted,workspace_name');
    const counts = rows.map((row) => Number(row.resources_drifted));
    expect(counts).toEqual([...counts].sort((a, b) => b - a));
    expect(rows).toHaveLength(everyWorkspace.filter(({ attributes }) => attributes.drifted === true).length);
  });

  test('a query that pages refuse is refused here, too, as JSON', async () => {
    const answer = await call(sandbox, `${ORGANIZATION}/explorer/export/csv?type=nothing`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('application/vnd.api+json');
  });
});

describe('who may ask', () => {
  test('a missing or wrong token gets 401, another organization 404', async () => {
    expect((await refusal(call(sandbox, `${ORGANIZATION}/explorer?type=workspaces`, { token: 'x' }))).status).toBe(401);
    const other = await refusal(call(sandbox, '/organizations/other/explorer?type=workspaces'));
    expect(other).toEqual({ status: 404, error: { status: '404', title: 'not found' } });
  });
});

test('flavor hashicorp renames, adds and refuses as the real product does', async () => {
  const live = await startTestSandbox({ flavor: 'hashicorp' });
  try {
    const [row] = await allRows(live, 'type=workspaces');
    expect(row?.attributes).toHaveProperty('workspace-terraform-version');
    expect(row?.attributes).toHaveProperty('current-rum-count');
    expect(row?.attributes).toHaveProperty('tags');
    expect(row?.attributes).not.toHaveProperty('workspace-iac-version');
    const ask = (query: string) => call(live, `${ORGANIZATION}/explorer?${query}`);
    expect((await ask(`type=workspaces&${filter('providers', 'does not contain', 'aws')}`)).status).toBe(422);
    expect((await ask(`type=workspaces&${filter('providers', 'does_not_contain', 'aws')}`)).status).toBe(200);
    expect((await allRows(live, 'type=resources')).length).toBeGreaterThan(0);
    const cookie = (await ask('type=workspaces')).headers.get('set-cookie')?.split(';')[0] ?? '';
    const headers = { authorization: `Bearer ${live.tokens.platform.read}`, cookie };
    expect((await fetch(`${live.urls.platform}/api/v2/ping`, { headers })).status).toBe(401);
    const { data } = await json<Paged>(ask('type=workspaces&fields[workspaces]=workspace_name'));
    expect(Object.keys(data[0]?.attributes ?? {})).toEqual(['workspace-name']);
  } finally {
    await live.close();
  }
});
