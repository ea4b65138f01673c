import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningSandbox } from '../../sandbox/index.ts';
import { startTestSandbox } from '../helpers/test-sandbox.ts';
import { type Answer, ask, read, type Sending } from './secrets-client.ts';

interface Page {
  readonly NextToken: string;
  readonly Volumes?: readonly { readonly ExternalID: string; readonly PublishedExternalNodeIDs: readonly string[] }[];
  readonly Snapshots?: readonly { readonly ID: string; readonly IsReady: boolean; readonly CreateTime: number }[];
}

let sandbox: RunningSandbox;
const send = (line: string, sending?: Sending): Promise<Answer> => ask(sandbox, 'scheduler', line, sending);
const page = (path: string): Promise<Page> => read(sandbox, 'scheduler', `GET ${path}`);
const ebs = () => sandbox.services.scheduler.state.plugins.get('eb50')!;

async function outcome(line: string, body?: unknown): Promise<[status: number, text: string]> {
  const { status, text } = await send(line, { body });
  return [status, text];
}

/** All pages of two, by the token. */
async function walk(path: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let token: string | undefined; token !== ''; token = pages.at(-1)!.NextToken) {
    pages.push(
      await page(`${path}&per_page=2${token === undefined ? '' : `&next_token=${encodeURIComponent(token)}`}`),
    );
  }
  return pages;
}

beforeEach(async () => {
  sandbox = await startTestSandbox();
});
afterEach(() => sandbox.close());

test('external volumes are paged by a token, each once', async () => {
  const ids = (await walk('/volumes/external?plugin_id=eb50')).flatMap(({ Volumes = [] }) => Volumes);
  expect(ids.map(({ ExternalID }) => ExternalID).sort()).toEqual([...ebs().externals.keys()].sort());
  expect(ids.some(({ PublishedExternalNodeIDs }) => PublishedExternalNodeIDs.length > 0)).toBe(true);
});

test('snapshots are paged by a token, each once, also when one vanishes meanwhile', async () => {
  const first = await page('/volumes/snapshot?plugin_id=eb50&per_page=2&secrets=key%3Dplanted');
  ebs().snapshots.delete(first.Snapshots![1]!.ID);
  const next = await page(
    `/volumes/snapshot?plugin_id=eb50&per_page=500&next_token=${encodeURIComponent(first.NextToken)}`,
  );
  expect(next.NextToken).toBe('');
  const ids = [first.Snapshots![0]!, ...next.Snapshots!].map(({ ID }) => ID);
  expect(ids.sort()).toEqual([...ebs().snapshots.keys()].sort());
});

test.each(['/volumes/external', '/volumes/snapshot'])(
  '%s needs a page size and a known plugin that can list',
  async (path) => {
    const number = 'Expect a number for `per_page` query string parameter';
    expect(await outcome(`GET ${path}?plugin_id=eb50`)).toEqual([400, number]);
    expect(await outcome(`GET ${path}?plugin_id=eb50&per_page=0`)).toEqual([400, number]);
    expect(await outcome(`GET ${path}?plugin_id=eb50&per_page=ten`)).toEqual([400, number]);
    expect(await outcome(`GET ${path}?plugin_id=ffff&per_page=2`)).toEqual([500, 'no such plugin: ffff']);
    expect((await send(`GET ${path}?plugin_id=eb&per_page=2`)).status).toBe(200);
    expect((await send(`GET ${path}?plugin_id=eb50&per_page=2&next_token=forged`)).status).toBe(500);
  },
);

test.each(['legacy-nfs', 'aws-ebs0', 'eb5', 'zz'])(
  'the prefix %s is refused: it has no even number of hexadecimal digits',
  async (id) => {
    for (const path of ['/volumes/external', '/volumes/snapshot']) {
      const [status, text] = await outcome(`GET ${path}?plugin_id=${id}&per_page=2`);
      expect([status, text]).toEqual([400, 'plugin_id must have an even number of hexadecimal characters']);
    }
  },
);

test('a prefix selects every plugin whose ID begins with it; without one, external volumes of all plugins are listed', async () => {
  const { plugins } = sandbox.services.scheduler.state;
  const longer = { ...ebs(), id: 'eb50aa', externals: new Map(), snapshots: new Map() };
  longer.externals.set('of-longer', {
    id: 'of-longer',
    capacityBytes: 1n,
    snapshotId: '',
    abnormal: false,
    status: '',
  });
  plugins.set('eb50aa', longer);
  const list = async (query: string) =>
    (await page(`/volumes/external?per_page=500${query}`)).Volumes!.map(({ ExternalID }) => ExternalID);
  expect(await list('&plugin_id=eb50')).toEqual([...ebs().externals.keys(), 'of-longer'].sort());
  expect(await list('&plugin_id=eb50aa')).toEqual(['of-longer']);
  const listing = [...plugins.values()].filter(({ capabilities }) => capabilities.includes('LIST_VOLUMES'));
  expect(await list('')).toHaveLength(listing.reduce((sum, { externals }) => sum + externals.size, 0));
  expect(await outcome('GET /volumes/snapshot?per_page=2')).toEqual([400, 'missing plugin ID']);
  plugins.delete('eb50aa');
});

test('a snapshot is created at the specified path, and appears in the list', async () => {
  const body = {
    Snapshots: [{ SourceVolumeID: 'unprotected-ledger', PluginID: 'eb50', Name: 'n', Parameters: { a: 'b' } }],
  };
  const { status, text } = await send('PUT /volumes/snapshot/unprotected-ledger', { body });
  const [taken] = (JSON.parse(text) as { Snapshots: { ID: string }[] }).Snapshots;
  expect([status, taken]).toEqual([
    200,
    {
      ID: taken!.ID,
      SourceVolumeID: 'unprotected-ledger',
      SizeBytes: expect.any(Number) as number,
      CreateTime: sandbox.now.getTime() / 1000,
      IsReady: true,
    },
  ]);
  const { Snapshots } = await page('/volumes/snapshot?plugin_id=eb50&per_page=500');
  expect(Snapshots!.find(({ ID }) => ID === taken!.ID)).toMatchObject({ PluginID: 'eb50', Parameters: { a: 'b' } });
  expect((await send('PUT /volume/csi/unprotected-ledger/snapshot', { body })).status).toBe(404);
});

test('the snapshot of a slow plugin is ready on the next day', async () => {
  const { status, text } = await send('PUT /volumes/snapshot/unready-search', { body: { Snapshots: [{}] } });
  const [taken] = (JSON.parse(text) as { Snapshots: { ID: string; IsReady: boolean }[] }).Snapshots;
  expect([status, taken!.IsReady]).toEqual([200, false]);
  sandbox.tick();
  const { Snapshots } = await page(`/volumes/snapshot?plugin_id=${encodeURIComponent('ce9400')}&per_page=500`);
  expect(Snapshots!.find(({ ID }) => ID === taken!.ID)?.IsReady).toBe(true);
});

test('no snapshot is created of a volume that does not exist or whose plugin cannot', async () => {
  const path = 'PUT /volumes/snapshot';
  const body = { Snapshots: [{}] };
  expect(await outcome(`${path}/none`, body)).toEqual([500, 'volume not found: none']);
  expect(await outcome(`${path}/nfs-home`, body)).toEqual([500, 'plugin does not support CREATE_DELETE_SNAPSHOT']);
  expect((await outcome(`${path}/missing-media`, body))[0]).toBe(500);
  expect(await outcome(`${path}/postgres-main`, {})).toEqual([400, 'missing snapshot definition']);
  expect(await outcome(`${path}/postgres-main`, { Snapshots: [{ PluginID: 'none' }] })).toEqual([
    500,
    'no such plugin: none',
  ]);
});

test('a snapshot is deleted by plugin and ID, twice without complaint', async () => {
  const [id] = [...ebs().snapshots.keys()];
  expect(await outcome('DELETE /volumes/snapshot?plugin_id=eb50')).toEqual([400, 'missing snapshot ID']);
  expect(await outcome(`DELETE /volumes/snapshot?snapshot_id=${id}`)).toEqual([400, 'missing plugin ID']);
  for (const _ of [1, 2]) {
    expect(await outcome(`DELETE /volumes/snapshot?plugin_id=eb50&snapshot_id=${id}`)).toEqual([200, '']);
    expect(ebs().snapshots.has(id!)).toBe(false);
  }
});

test('blocking queries respond at once, and invalid ones are refused', async () => {
  expect((await send('GET /volumes?type=csi&index=5&wait=10ms')).status).toBe(200);
  expect(await outcome('GET /volumes?wait=long')).toEqual([400, 'Invalid wait time']);
  expect(await outcome('GET /acl/policies?index=x')).toEqual([400, 'Invalid index']);
});
