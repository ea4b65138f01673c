import { gzipSync } from 'node:zlib';
import type { TargetKind } from '../../src/config/config.ts';
import { autoscaler, mesh, platform, scheduler, secrets } from '../../src/services/index.ts';
import type { Operation } from '../../src/services/operation.ts';
import type { Handler } from './http-service.ts';

/** What a service answers, and what must come of it: `ok`, the kind of the failure, or the name of another error. */
export interface HostileAnswer {
  readonly name: string;
  readonly kind: TargetKind;
  readonly operation: Operation;
  readonly method: 'call' | 'pages' | 'download';
  readonly handle: Handler;
  readonly expected: string;
}

const LIST = { kind: 'platform', operation: platform.views.list, method: 'call' } as const;
const GOOD = '{"data":[]}';

const raw =
  (text: string): Handler =>
  (_request, response) =>
    response.socket?.end(text);
const body =
  (text: string | Buffer, headers: Record<string, string> = {}, status = 200): Handler =>
  (_request, response) =>
    response.writeHead(status, headers).end(text);

/** Statuses with a body that would be right. */
const STATUSES: Readonly<Record<string, readonly (number | string)[]>> = {
  ok: [200, 201, 203, 207, 226, 299],
  truncated: [206],
  malformed: [
    202,
    204,
    205,
    600,
    700,
    998,
    999,
    301,
    302,
    303,
    307,
    308,
    '099 x',
    '1000 x',
    '2xx x',
    ' 200 OK',
    '-200 OK',
    400, // the platform says `errors` with it
    422,
  ],
  invalid: [
    300, 304, 305, 306, 310, 399, 402, 405, 406, 411, 414, 415, 417, 418, 421, 424, 425, 426, 428, 431, 451, 499,
  ],
  /** fetch takes it for the answer of a proxy. */
  unreachable: [407],
  unauthorized: [401],
  forbidden: [403],
  'not-found': [404, 410],
  timeout: [408],
  conflict: [409, 423],
  precondition: [412],
  'too-large': [413],
  'rate-limited': [429],
  server: [500, 501, 502, 503, 504, 505, 507, 508, 511, 520, 525, 530, 599],
};

function statusAnswers(): readonly HostileAnswer[] {
  return Object.entries(STATUSES).flatMap(([expected, statuses]) =>
    statuses.map((status) => ({
      ...LIST,
      name: `status ${status}`,
      handle: raw(
        `HTTP/1.1 ${typeof status === 'number' ? `${status} Odd` : status}\r\ncontent-length: ${GOOD.length}\r\n\r\n${GOOD}`,
      ),
      expected,
    })),
  );
}

/** Bodies that are right for no operation. */
const BODIES: readonly string[] = [
  '',
  ' ',
  '\u0000',
  '\uFEFF',
  'null',
  'true',
  '0',
  '1e999',
  '"text"',
  '""',
  '[',
  '{',
  '{"data":[',
  '{"data":',
  '}{',
  '[]]',
  '{"data":[]',
  '{"data":undefined}',
  "{'data':[]}",
  '{data:[]}',
  '{"data":[],}',
  '{"data":NaN}',
  'NaN',
  'undefined',
  '<html></html>',
  '<!DOCTYPE html><title>Sign in</title>',
  '<?xml version="1.0"?><a/>',
  '<script>1</script>',
  '<!-- -->',
  '\uFEFF<html>',
  'data: {}\n\n',
  '--boundary\r\n',
  `{"data":${'['.repeat(5000)}${']'.repeat(5000)}}`,
  `${'['.repeat(100_000)}`,
  `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`,
  'ok',
  'a,b\n1,2\n',
  '\\u0000',
  '{"data":"\ud800',
  '%7B%22data%22%3A%5B%5D%7D',
];

const READS: readonly (readonly [TargetKind, Operation])[] = [
  ['platform', platform.views.list],
  ['secrets', secrets.keys.list],
  ['scheduler', scheduler.policies.list],
  ['mesh', mesh['ca-roots'].read],
];

function bodyAnswers(): readonly HostileAnswer[] {
  return READS.flatMap(([kind, operation]) =>
    BODIES.map((text) => ({
      kind,
      operation,
      method: 'call' as const,
      name: `${operation.name} answers ${JSON.stringify(text.slice(0, 40))} (${text.length})`,
      handle: body(text),
      expected: 'malformed',
    })),
  );
}

/** JSON of the right form with hostile content, which is not the client's to refuse. */
const CONTENTS: readonly string[] = [
  '{"data":[null]}',
  '{"data":[{"id":{}}]}',
  '{"data":[{"__proto__":{"polluted":1}}]}',
  '{"data":[{"constructor":1}]}',
  '{"data":[{"id":1e400}]}',
  '{"data":[{"id":99999999999999999999999999}]}',
  '{"data":[{"id":"\\ud800"}]}',
  '{"data":[{"id":"\\u0000\\u001b[31m"}]}',
  '{"data":[],"data":[]}',
  '\uFEFF{"data":[]}',
  `{"data":[{"id":"${'x'.repeat(60_000)}"}]}`,
  '{"data":[{"id":"../../etc/passwd"}]}',
  '{"data":[{"id":"\'; drop table x"}]}',
];

function contentAnswers(): readonly HostileAnswer[] {
  return CONTENTS.map((text) => ({
    ...LIST,
    name: `content ${text.slice(0, 50)}`,
    handle: body(text),
    expected: 'ok',
  }));
}

function headerAnswers(): readonly HostileAnswer[] {
  const answer = (name: string, handle: Handler, expected: string) => ({ ...LIST, name, handle, expected });
  const pauses = ['0', '-1', 'NaN', '1e9', '', 'soon', '0x10', ' ', '1;2', 'Thu, 01 Jan 1970 00:00:00 GMT', '-0'];
  const long = ['999999999', '86400', 'Fri, 31 Dec 2100 23:59:59 GMT', '99999999999999999999'];
  const redirects = [
    '/elsewhere',
    '',
    '//evil.example/',
    'http://evil.example/',
    'javascript:alert(1)',
    'file:///etc/passwd',
    'http://[',
    `/${'a'.repeat(5000)}`,
  ];
  const encodings = ['gzip', 'br', 'deflate', 'gzip, gzip', 'x-gzip'];
  return [
    ...pauses.map((value) =>
      answer(`429 with Retry-After "${value}"`, body('', { 'retry-after': value }, 429), 'rate-limited'),
    ),
    ...long.map((value) =>
      answer(`429 with Retry-After "${value}"`, body('', { 'retry-after': value }, 429), 'too-long-wait'),
    ),
    ...redirects.map((to) => answer(`redirect to "${to.slice(0, 30)}"`, body('', { location: to }, 307), 'malformed')),
    ...encodings.map((encoding) =>
      answer(`garbage as ${encoding}`, body('no archive', { 'content-encoding': encoding }), 'truncated'),
    ),
    answer(
      'errors nested 100,000 deep',
      body(`{"errors":${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}}`, {}, 400),
      'malformed',
    ),
    answer('an encoding that nobody knows', body(GOOD, { 'content-encoding': 'snappy' }), 'ok'),
    answer('half an archive', body(gzipSync(GOOD).subarray(0, 12), { 'content-encoding': 'gzip' }), 'malformed'),
    answer('a bomb', body(gzipSync('x'.repeat(3_000_000)), { 'content-encoding': 'gzip' }), 'too-large'),
    answer('headers of 100 kB', body(GOOD, { 'x-long': 'x'.repeat(100_000) }), 'too-large'),
    answer(
      'two lengths',
      raw(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 11\r\n\r\n${GOOD}`),
      'malformed',
    ),
    answer('a length that is no number', raw(`HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n${GOOD}`), 'malformed'),
    answer('a negative length', raw(`HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n${GOOD}`), 'malformed'),
    answer('a length that is too long', raw(`HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n${GOOD}`), 'truncated'),
    answer(
      'chunks that are no chunks',
      raw('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n'),
      'malformed',
    ),
    answer('another protocol', raw('SSH-2.0-OpenSSH_9.0\r\n'), 'malformed'),
    answer('nothing but an end', raw(''), 'unreachable'),
    answer('a header without a name', raw(`HTTP/1.1 200 OK\r\n: x\r\ncontent-length: 11\r\n\r\n${GOOD}`), 'malformed'),
  ];
}

/** Rate limits that make no sense: the answer itself is right, and nobody waits. */
function rateAnswers(): readonly HostileAnswer[] {
  const values = ['0', '-1', 'NaN', '', '1e308', '99999999999999999999', 'x', '0.0001', '5, 5;w=1', '  7  '];
  const names = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit'];
  return names.flatMap((name) =>
    values.map((value) => ({
      ...LIST,
      name: `${name}: "${value}"`,
      handle: body(GOOD, {
        'x-ratelimit-limit': '30',
        'x-ratelimit-remaining': '29',
        'x-ratelimit-reset': '1',
        [name]: value,
      }),
      expected: 'ok',
    })),
  );
}

function pageAnswers(): readonly HostileAnswer[] {
  const pools = { kind: 'platform', operation: platform['agent-pools'].list, method: 'pages' } as const;
  const next = ['1', '0', '-1', '1e300', '2.5', '"2"', 'true', '{}', '[]', '9999999999', '1e999'];
  const links = ['"http://evil.example/?page%5Bnumber%5D=2"', '"//evil.example/?page%5Bnumber%5D=2"'];
  const page = (meta: string) => body(`{"data":[{"id":"a"}],${meta}}`);
  const pagination = (value: string) =>
    page(`"meta":{"pagination":{"current-page":1,"next-page":${value},"total-count":1}}`);
  return [
    ...next.map((value) => ({
      ...pools,
      name: `next page ${value}`,
      handle: pagination(value),
      expected: 'malformed',
    })),
    ...links.map((link) => ({
      ...pools,
      name: `link ${link}`,
      handle: page(`"links":{"next":${link}}`),
      expected: 'malformed',
    })),
    { ...pools, name: 'pages that are all new', handle: newPage, expected: 'BoundExceededError' },
  ];
}

const newPage: Handler = (_request, response, count) =>
  response.end(
    `{"data":[{"id":"p-${count}"}],"meta":{"pagination":{"current-page":${count},"next-page":${count + 1}}}}`,
  );

function downloadAnswers(): readonly HostileAnswer[] {
  const csv = { kind: 'platform', operation: platform.explorer.export, method: 'download' } as const;
  const bodies: readonly (readonly [string, string | Buffer, string])[] = [
    ['nothing', '', 'ok'],
    ['a header alone', '"workspace_name"\n', 'ok'],
    ['NUL bytes', '\u0000'.repeat(100), 'ok'],
    ['bytes that are no UTF-8', Buffer.from([0xff, 0xfe, 0x80, 0x22]), 'ok'],
    ['a quote that never ends', '"workspace_name"\n"a', 'ok'],
    ['a line of 60 kB', `"${'x'.repeat(60_000)}"\n`, 'ok'],
    ['a login page', '<!doctype html><title>Sign in</title>', 'malformed'],
    ['a page after a BOM', '\uFEFF<html>', 'malformed'],
    ['2 MB', 'x'.repeat(2_000_000), 'too-large'],
  ];
  return bodies.map(([name, text, expected]) => ({ ...csv, name: `CSV: ${name}`, handle: body(text), expected }));
}

function healthAnswers(): readonly HostileAnswer[] {
  const health = { kind: 'autoscaler', operation: autoscaler.health.read, method: 'call' } as const;
  const statuses = [
    [200, 'ok'],
    [503, 'ok'],
    [500, 'server'],
    [404, 'not-found'],
    [999, 'malformed'],
  ] as const;
  return statuses.map(([status, expected]) => ({
    ...health,
    name: `health ${status}`,
    handle: raw(`HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`),
    expected,
  }));
}

export const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ...statusAnswers(),
  ...bodyAnswers(),
  ...contentAnswers(),
  ...headerAnswers(),
  ...rateAnswers(),
  ...pageAnswers(),
  ...downloadAnswers(),
  ...healthAnswers(),
];
