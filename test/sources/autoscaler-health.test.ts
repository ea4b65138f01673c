import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HOUR_MS } from '../../src/core/clock.ts';
import { findTarget, type TestProject, testProject } from '../helpers/test-project.ts';
import { writeJob } from '../mail/mail-project.ts';

async function scalerProject(): Promise<TestProject> {
  const place = await testProject({ workspaces: 2 });
  await place.configure((config) => {
    const scaler = findTarget(config, 'scaler');
    scaler.sources = ['autoscaler_health'];
    config.targets = [scaler];
    config.subjectPages = 0;
  });
  return place;
}

const at = (place: TestProject, hours: number) => new Date(place.sandbox.now.getTime() + hours * HOUR_MS).toISOString();
const moveTo = (place: TestProject, url: string) =>
  place.configure((config) => {
    findTarget(config, 'scaler').url = url;
  });

/** An address at which nothing listens any more. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise<void>((resolve) => server.close(() => resolve()));
  return `http://127.0.0.1:${port}`;
}

test('a check with the same result makes no version, and the pull says what it changed', async () => {
  const place = await scalerProject();
  await place.pull(['--now', at(place, 0)]);
  await place.pull(['--now', at(place, 24)]);
  expect(await place.rows('select alive, checked_at from autoscaler_health_history')).toEqual([
    { alive: true, checked_at: at(place, 24).replace('.000Z', 'Z') },
  ]);
  expect(await place.rows('select inserted, changed, deleted from pulls order by as_of')).toEqual([
    { inserted: 1, changed: 0, deleted: 0 },
    { inserted: 0, changed: 0, deleted: 0 },
  ]);
});

test('an autoscaler that does not listen is down', async () => {
  const place = await scalerProject();
  await place.pull(['--now', at(place, 0)]);
  await moveTo(place, await closedAddress());
  await writeJob(place, { pull: 'all' });
  const { exit, stderr } = await place.tidemark(['run', 'nightly', '--now', at(place, 24)]);
  expect(exit, stderr).toBe(0);
  expect(await place.rows('select alive from autoscaler_health')).toEqual([{ alive: false }]);
  expect(await place.rows("select title from findings where rule = 'autoscaler-down'")).toEqual([
    { title: 'Autoscaler scaler is not alive' },
  ]);
});

test('an autoscaler behind a proxy that does not listen is unknown, whatever the port of the proxy', async () => {
  const place = await scalerProject();
  await place.pull(['--now', at(place, 0)]);
  const closed = await closedAddress();
  await moveTo(place, `http://scaler.example:${new URL(closed).port}`);
  const { exit, stderr } = await place.tidemark(['pull', '--now', at(place, 24)], { env: { HTTP_PROXY: closed } });
  expect(exit, stderr).toBe(3);
  expect(stderr).toContain('the proxy refused the connection (ECONNREFUSED)');
  expect(await place.rows('select alive from autoscaler_health')).toEqual([{ alive: true }]);
});

test('an autoscaler whose host closes the connection is unknown', async () => {
  const place = await scalerProject();
  await place.pull(['--now', at(place, 0)]);
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  await moveTo(place, `http://127.0.0.1:${(server.address() as { port: number }).port}`);
  await place.pull(['--now', at(place, 24)], 3);
  expect(await place.rows('select alive from autoscaler_health')).toEqual([{ alive: true }]);
  expect(await place.rows('select inserted from pulls order by as_of')).toEqual([{ inserted: 1 }, { inserted: null }]);
});
