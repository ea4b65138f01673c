import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { prepareProject, type TestProject, testProject } from '../../helpers/test-project.ts';

const SIZE = { workspaces: 30 };

async function configureJob(place: TestProject): Promise<void> {
  await mkdir(join(place.folder, 'jobs'));
  const job = { pull: ['workspaces'], reports: ['overview', 'drift'] };
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify(job));
  await place.configure((config) => {
    config.subjectPages = 0;
    config.targets = config.targets.filter(({ kind }) => kind === 'platform'); // the job pulls nothing else
  });
}

/** A project on the night after its first run. */
async function project(): Promise<TestProject> {
  const from = await prepareProject('a-night-before-news', SIZE, async (first) => {
    await configureJob(first);
    await first.tidemark(['run', 'nightly']);
  });
  const place = await testProject({ ...SIZE, from });
  await configureJob(place);
  place.sandbox.tick();
  return place;
}

async function readSummary({ folder }: TestProject, report: string): Promise<Record<string, number>> {
  return JSON.parse(await readFile(join(folder, 'out', `${report}.json`), 'utf8')).summary;
}

const readNews = async (place: TestProject): Promise<Record<string, number | undefined>> => ({
  ...(await readSummary(place, 'drift')),
  findings_new: (await readSummary(place, 'overview')).findings_new,
});

async function listLanded({ folder }: TestProject): Promise<readonly string[]> {
  const landing = join(folder, 'data', 'landing');
  const files = (await readdir(landing)).map((run) => readdir(join(landing, run)));
  return (await Promise.all(files)).flat();
}

test('a run that published and could not report is interrupted: the next one has its news, and the one after it has not', async () => {
  const place = await project();
  const out = join(place.folder, 'out');
  await rm(out, { recursive: true });
  await writeFile(out, 'not a folder');
  expect((await place.tidemark(['run', 'nightly'])).exit).not.toBe(0);
  await rm(out);
  expect((await place.tidemark(['run', 'nightly'])).exit).toBe(0);
  expect(await place.rows('select status from runs order by started_at')).toEqual([
    { status: 'complete' },
    { status: 'interrupted' },
    { status: 'complete' },
  ]);

  const other = await project();
  await other.tidemark(['run', 'nightly']);
  expect([...(await listLanded(other))].sort(), 'a run that is done leaves no mark').toEqual([
    'acme',
    'acme',
    'run.json',
    'run.json',
  ]);
  const news = await readNews(place);
  expect(news).toEqual(await readNews(other));
  expect(news.newly_drifted).toBeGreaterThan(0);
  expect(news.findings_new).toBeGreaterThan(0);

  await place.tidemark(['run', 'nightly']);
  expect(await readNews(place)).toMatchObject({ newly_drifted: 0, findings_new: 0 });
});

test('a day later, the news of an interrupted run are those of the next one', async () => {
  const place = await project();
  const out = join(place.folder, 'out');
  await rm(out, { recursive: true });
  await writeFile(out, 'not a folder');
  const now = new Date(place.sandbox.now.getTime() + 30 * 3_600_000).toISOString();
  await place.tidemark(['run', 'nightly']);
  await rm(out);
  expect((await place.tidemark(['run', 'nightly', '--now', now])).exit).toBe(0);
  const { newly_drifted, findings_new } = await readNews(place);
  expect(newly_drifted).toBeGreaterThan(0);
  expect(findings_new).toBeGreaterThan(0);
});
