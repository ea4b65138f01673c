import { expect, test } from 'vitest';
import { readRecorded } from '../recorded/recorded.ts';
import { answering, HUGE } from './answering.ts';

test.each([
  [undefined, undefined, [null, null]],
  ['r1', undefined, [true, false]],
])('whether CA roots are active is unknown where the service says so of none: %s, %s', async (id, Active, expected) => {
  const root = { Active, RootCert: 'x', IntermediateCerts: null };
  const Roots = [
    { ID: 'r1', ...root },
    { ID: 'r3', ...root },
  ];
  const place = await answering({ '/v1/agent/connect/ca/roots': { ActiveRootID: id, Roots } });
  await place.pull(['--source', 'ca_roots']);
  expect((await place.rows('from ca_roots order by root_id')).map(({ active }) => active)).toEqual(expected);
});

test('whether a CA root is active is unknown where the service names it as the active one, and says that it is not', async () => {
  const root = { RootCert: 'x', IntermediateCerts: null };
  const Roots = ['r1', 'r2', 'r3'].map((ID) => ({ ...root, ID, Active: ID === 'r1' }));
  const place = await answering({ '/v1/agent/connect/ca/roots': { ActiveRootID: 'r3', Roots } });
  await place.pull(['--source', 'ca_roots']);
  expect((await place.rows('from ca_roots order by root_id')).map(({ active }) => active)).toEqual([true, false, null]);
});

test('the validity of a CA root is that of its certificate, whatever the service says of it', async () => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly object[] };
  const place = await answering({
    '/v1/agent/connect/ca/roots': {
      Roots: [
        { ...Roots[0], ID: 'read', NotBefore: '2020-01-01T00:00:00Z', NotAfter: '9999-12-31T23:59:59Z' },
        { ...Roots[0], ID: 'unreadable', RootCert: 'none', NotAfter: '2026-12-01T00:00:00Z' },
      ],
    },
  });
  await place.pull(['--source', 'ca_roots']);
  const columns = 'root_id, not_before::varchar as not_before, not_after::varchar as not_after';
  expect(await place.rows(`select ${columns} from ca_roots order by 1`)).toEqual([
    { root_id: 'read', not_before: '2026-11-22 00:26:13+00', not_after: '2036-11-19 00:26:13+00' },
    { root_id: 'unreadable', not_before: '2026-11-22 00:26:13+00', not_after: '2026-12-01 00:00:00+00' },
  ]);
});

test.each([
  [{ ActiveRootID: 'z-new' }, {}],
  [{}, { Active: true }],
])('an intermediate that two CA roots name is of the active one: %j, %j', async (answer, active) => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly { RootCert: string }[] };
  const shared = { RootCert: 'unreadable', IntermediateCerts: [Roots[0]!.RootCert] };
  const place = await answering({
    '/v1/agent/connect/ca/roots': {
      ...answer,
      Roots: [
        { ...shared, ID: 'a-old' },
        { ...shared, ...active, ID: 'z-new' },
      ],
    },
  });
  await place.pull(['--source', 'ca_roots']);
  const rows = await place.rows('select root_id from authority_certificates where subject is not null');
  expect(rows).toEqual([{ root_id: 'z-new' }]);
});

test.each([
  ['is garbled', { RootCert: 'garbled' }],
  ['is no text', { IntermediateCerts: [null] }],
  ['is an empty text', { IntermediateCerts: [''] }],
  ['is a number beyond 2^53', { IntermediateCerts: [HUGE] }],
])('what was read of the certificates of a root stays where one of them %s', async (_, fields) => {
  const { Roots } = JSON.parse(readRecorded('consul/roots').body) as { Roots: readonly object[] };
  const answers = { '/v1/agent/connect/ca/roots': { Roots } };
  const place = await answering(answers);
  await place.pull(['--source', 'ca_roots']);
  const read = () =>
    place.rows(
      'select fingerprint, subject, not_after from authority_certificates union all select root_id, name, not_after from ca_roots',
    );
  const before = await read();
  answers['/v1/agent/connect/ca/roots'] = { Roots: [{ ...Roots[0], NotAfter: '9999-12-31T23:59:59Z', ...fields }] };
  const { stderr } = await place.pull(['--source', 'ca_roots'], 1);
  expect(stderr).toContain('its certificates can no longer be read');
  expect(await read()).toEqual(before);
});

test('the validity of a leaf is that of its certificate, whatever the service says of it', async () => {
  const leaf = JSON.parse(readRecorded('consul/leaf').body) as object;
  const place = await answering({
    '/v1/agent/connect/ca/leaf/web': {
      ...leaf,
      ValidAfter: '2026-11-29T00:00:00Z',
      ValidBefore: '9999-12-31T23:59:59Z',
    },
    '/v1/agent/connect/ca/leaf/api': { ...leaf, Service: 'api', CertPEM: 'none', ValidBefore: '2026-12-01T00:00:00Z' },
  });
  await place.pull(['--source', 'leaf_certificates']);
  const columns = 'service, valid_after::varchar as valid_after, valid_before::varchar as valid_before';
  expect(
    await place.rows(`select ${columns} from leaf_certificates where service in ('api', 'web') order by 1`),
  ).toEqual([
    { service: 'api', valid_after: '2026-11-22 00:28:25+00', valid_before: '2026-12-01 00:00:00+00' },
    { service: 'web', valid_after: '2026-11-22 00:28:25+00', valid_before: '2026-11-25 00:28:25+00' },
  ]);
});
