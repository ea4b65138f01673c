import { once } from 'node:events';
import { cp, readdir } from 'node:fs/promises';
import { createServer, type ServerResponse, request as sendRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../../helpers/lake-project.ts';
import { findS3Server, type S3Server, startS3Server } from '../../helpers/s3-server.ts';
import { cleanAtEnd, tempFolder } from '../../helpers/temp.ts';

/** A real S3 server with something in front of it that answers some requests itself. */

const atEnd = cleanAtEnd();
const program = findS3Server();
const HEALTH = 'insert into autoscaler_health_history (target, alive, valid_from, valid_to) values';

interface Fault {
  readonly name: string;
  /** Whether the request is answered here: `METHOD URL`. */
  readonly takes: RegExp;
  readonly answer: (response: ServerResponse) => void;
  /** Commands that the fault does not reach. */
  readonly spares?: readonly string[];
}

const PAGE = '<!doctype html><html><body>Not found</body></html>';
const send = (status: number, body: string, type: string) => (response: ServerResponse) =>
  void response.writeHead(status, { 'content-type': type }).end(body);
const xml = (status: number, code: string) => send(status, `<Error><Code>${code}</Code></Error>`, 'application/xml');

const LOG = /autoscaler_health_changes(?:%2F|\/)_delta_log/u;
const ANSWERS: readonly (readonly [string, Fault['answer']])[] = [
  ['a page with 404', send(404, PAGE, 'text/html')],
  ['an empty 404', send(404, '', 'text/plain')],
  ['404 in JSON', send(404, '{"errors": []}', 'application/json')],
  ['410', send(410, '', 'text/plain')],
  ['a login page with 200', send(200, PAGE, 'text/html')],
  ['404 NoSuchBucket', xml(404, 'NoSuchBucket')],
];

const FAULTS: readonly Fault[] = [
  ...ANSWERS.map(([name, answer]) => ({ name: `${name} for the log of a table`, takes: LOG, answer })),
  ...ANSWERS.map(([name, answer]) => ({ name: `${name} for lists`, takes: /^GET .*list-type=2/u, answer })),
  ...ANSWERS.map(([name, answer]) => ({
    name: `${name} for what is written`,
    takes: /^PUT /u,
    answer,
    spares: ['verify', 'restore'],
  })),
  {
    name: 'NoSuchKey for commits that are listed',
    takes: /GET [^?]*_delta_log\/\d+\.json/u,
    answer: xml(404, 'NoSuchKey'),
  },
  {
    name: '412 for every commit, and none of them is there',
    takes: /PUT .*_delta_log\/\d+\.json/u,
    answer: xml(412, 'PreconditionFailed'),
    spares: ['verify', 'restore'],
  },
];

const COMMANDS = ['publish', 'verify', 'restore'] as const;

/** Each fault with one of the commands that it reaches, by turns: they answer by one rule, `classifyRefusal`. */
const CASES = FAULTS.map((fault, index) => {
  const reached = COMMANDS.filter((name) => !fault.spares?.includes(name));
  return { ...fault, command: reached[index % reached.length] ?? 'publish' };
});

describe.skipIf(program === undefined)('a bucket behind', () => {
  let server: S3Server;
  let project: LakeProject;
  let fault: Fault | undefined;
  let endpoint: string;

  beforeAll(async () => {
    server = await startS3Server(program ?? '', atEnd);
    endpoint = await startProxy(server.env.AWS_ENDPOINT_URL ?? '');
    project = await lakeProject({ tables: 'few', cleanup: atEnd });
    await project.night('2026-10-01T02:15:00Z', `${HEALTH} ('a', true, '2026-10-01T02:15:00Z', null)`);
    await cli(['lake', 'publish', '--lake', lake()], { cwd: project.folder, env: server.env });
    await project.night('2026-10-02T02:15:00Z', `${HEALTH} ('b', true, '2026-10-02T02:15:00Z', null)`);
  });

  const lake = () => `s3://${server.bucket}/lake`;

  /** Passes every request on as it is, so that its signature stays valid, but for those that the fault takes. */
  async function startProxy(target: string): Promise<string> {
    const proxy = createServer((request, response) => {
      if (fault?.takes.test(`${request.method} ${request.url}`)) {
        request.resume().on('end', () => fault?.answer(response));
        return;
      }
      const passed = sendRequest(
        target + request.url,
        { method: request.method, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode ?? 500, answer.headers);
          answer.pipe(response);
        },
      );
      request.pipe(passed);
    }).listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    atEnd(async () => void proxy.close());
    return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }

  const listLogs = async () =>
    (await readdir(join(server.folder, 'lake'), { recursive: true }))
      .filter((path) => path.includes('_delta_log'))
      .sort();

  async function run(command: string, env: Readonly<Record<string, string>> = {}) {
    const elsewhere = await tempFolder();
    await cp(project.config.file, join(elsewhere, 'tidemark.yaml'));
    const cwd = command === 'restore' ? elsewhere : project.folder;
    return cli(['lake', command, '--lake', lake()], {
      cwd,
      env: { ...server.env, AWS_ENDPOINT_URL: endpoint, ...env },
    });
  }

  test.each(CASES)('$name: $command says so in one line, and nothing is committed', async ({ command, ...given }) => {
    const before = await listLogs();
    fault = given;
    const { exit, stderr, stdout } = await run(command);
    fault = undefined;
    expect([exit, stdout]).toEqual([
      expect.toSatisfy((code) => [3, 4].includes(code)),
      command === 'verify' && exit === 4 ? expect.anything() : '',
    ]);
    expect(stderr).toMatch(/^error: /u);
    expect(stderr).not.toContain('internal');
    expect(await listLogs()).toEqual(before);
  });

  test('a wrong key is one line that names the variable', async () => {
    fault = undefined;
    for (const command of COMMANDS) {
      const { exit, stderr } = await run(command, { AWS_ACCESS_KEY_ID: 'another' });
      expect([command, exit, stderr]).toEqual([command, 3, expect.stringContaining('check AWS_ACCESS_KEY_ID')]);
    }
  });

  test('nothing: the same commands are complete', async () => {
    fault = undefined;
    for (const command of COMMANDS) {
      expect(await run(command)).toMatchObject({ exit: 0, stderr: '' });
    }
  });
});
