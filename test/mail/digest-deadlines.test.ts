import { expect, test } from 'vitest';
import { recordFacts } from '../../src/run/lifecycle.ts';
import { createMailWarehouse, mailConfig } from '../helpers/mail-warehouse.ts';
import { workspace } from '../helpers/report-warehouse.ts';

const AS_OF = '2026-11-20T02:15:00Z';

test('a digest has what ends within two weeks, by route', async () => {
  const warehouse = await createMailWarehouse();
  const root = (root_id: string, not_after: string) => ({ root_id, name: root_id, active: true, not_after });
  await warehouse.pull(AS_OF, {
    workspaces: [workspace('a')],
    ca_roots: [
      root('soon\r\n<b>', '2026-12-01T00:00:00Z'),
      root('later', '2026-12-05T00:00:00Z'),
      root('ended', '2026-11-19T00:00:00Z'),
      ...Array.from({ length: 9 }, (_, index) => root(`n${index}`, '2026-12-03T00:00:00Z')),
    ],
  });
  await warehouse.evaluate(AS_OF);
  const routes = [{ to: 'pay@acme.example', projects: ['*'] }];
  const mail = { smtp: 'smtp://127.0.0.1:2525', from: 'Tidemark <reports@acme.example>', routes };
  const { text, html } = await warehouse.digest(AS_OF);
  expect(text).toContain(
    'Ends within two weeks\n---------------------\n2026-12-01 00:00 UTC: CA root soon <b> (acme): rotate the root in the mesh\n',
  );
  expect(text).toContain('CA root n6 (acme): rotate the root in the mesh\nand 2 more\n');
  expect(html).toContain('CA root soon &lt;b&gt; (acme)');
  const { messages } = await warehouse.compose(AS_OF, { config: mailConfig(warehouse.directory, { mail }) });
  expect(messages.find(({ to }) => to.address === 'pay@acme.example')?.text).not.toContain('Ends within');
});

test('a digest says that facts about support are old, and its subject only what is not known because of a pull', async () => {
  const warehouse = await createMailWarehouse();
  const release = {
    released_at: null,
    support_ends_at: null,
    ended: false,
    ends_with: '1.17',
    latest: null,
    latest_at: null,
  };
  const fact = { product: 'terraform', cycle: '1.15', ...release, data_as_of: '2026-07-22' };
  await recordFacts(warehouse, [fact], 'packaged', new Date('2026-07-22T00:00:00Z'));
  const digest = async (asOf: string) => {
    await warehouse.pull(asOf, { workspaces: [workspace('a', { workspace_iac_version: '1.15.1' })] });
    return warehouse.digest(asOf);
  };
  expect((await digest('2026-11-19T02:15:00Z')).text).not.toContain('lifecycle');
  const { text, html, subject } = await digest(AS_OF);
  const line =
    'acme: lifecycle: old; data as of 2026-07-22 00:00 UTC, 121 days old (tidemark lifecycle import FILE takes newer facts)';
  expect(text).toContain(line);
  expect(html).toContain('<b>acme: lifecycle</b>');
  expect(subject).not.toContain('stale');
});
