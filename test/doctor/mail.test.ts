import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Check } from '../../src/run/doctor/checks.ts';
import { CLOSED_PORT, startMailServer } from '../helpers/mail-server.ts';
import { findTarget, testProject } from '../helpers/test-project.ts';

/** A server on loopback that is no mail server: it says this to whoever connects, and closes, or hangs where it says nothing. */
async function otherServer(words: string | undefined): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {}); // the client may hang up
    if (words !== undefined) socket.end(words);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const LOGIN = { user: 'reports', password: 'correct-horse-battery' };

test.each([
  [
    'takes the password',
    async () => (await startMailServer({ login: LOGIN })).port,
    LOGIN.password,
    /^127\.0\.0\.1:\d+$/u,
  ],
  ['refuses the password', async () => (await startMailServer({ login: LOGIN })).port, 'another-long-password', /535/u],
  ['does not listen', async () => CLOSED_PORT, LOGIN.password, /ECONNREFUSED/u],
  [
    'speaks another protocol',
    () => otherServer('HTTP/1.1 400 Bad Request\r\n\r\n'),
    LOGIN.password,
    /greeting|response/iu,
  ],
  ['closes the connection', () => otherServer(''), LOGIN.password, /close/iu],
])('doctor says of a mail server that %s what it does', async (words, start, password, detail) => {
  const port = await start();
  const place = await testProject({ workspaces: 2 });
  await place.configure((config) => {
    config.targets = [findTarget(config, 'scaler')];
    config.mail = { smtp: `smtp://reports:${password}@127.0.0.1:${port}`, from: 'a@acme.example' };
  });
  const { stdout } = await place.tidemark(['doctor', '--json']);
  const [found] = (JSON.parse(stdout) as Check[]).filter(({ about }) => about === 'mail');
  expect(found).toMatchObject({ check: 'reachable', ok: words.startsWith('takes') });
  expect(found?.detail).toMatch(detail);
  expect(stdout).not.toContain(password);
});
