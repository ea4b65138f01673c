import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

/** One after the other, the attempts at ten requests and at the smaller queries that follow a timeout took ten times as long. */
test('a target whose proxy takes connections and never answers holds a run for the attempts at one request', async () => {
  let connections = 0;
  const proxy = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
  });
  proxy.listen(0, '127.0.0.1');
  onTestFinished(() => void proxy.close());
  await once(proxy, 'listening');
  const cwd = await tempFolder();
  const target =
    "{ name: acme, kind: platform, organization: acme, token: 'token-of-acme-1', url: 'https://acme.example' }";
  await writeFile(join(cwd, 'tidemark.yaml'), `targets:\n  - ${target}\n`);
  const { exit, stderr } = await cli(['pull'], {
    cwd,
    env: { HTTPS_PROXY: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` },
    timeouts: { connectMs: 100, backoffMs: 5, maxBackoffMs: 100 },
  });
  expect(exit).toBe(3);
  expect(stderr).toContain('no connection through the proxy within 0.2 s');
  expect(connections).toBeLessThan(40); // of more than fifty
});
