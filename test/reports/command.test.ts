import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '../../src/core/clock.ts';
import type { CliRun } from '../helpers/cli.ts';
import { compareShownSql } from '../helpers/shown-sql.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { type TestProject, testProject } from '../helpers/test-project.ts';

const atEnd = cleanAtEnd();
interface Data {
  readonly report: string;
  readonly as_of: string;
  readonly generated_at: string;
  readonly summary: Record<string, unknown>;
  readonly sources: readonly Record<string, unknown>[];
}

describe('tidemark report', () => {
  let place: TestProject;
  let first: string;
  beforeAll(async () => {
    place = await testProject({ workspaces: 20, cleanup: atEnd });
    await place.configure((config) => {
      config.subjectPages = 0; // they take half of the time of a report
    });
    first = place.sandbox.now.toISOString();
    await place.pull(
      ['workspaces', 'tf_versions', 'providers', 'modules', 'agents'].flatMap((name) => ['--source', name]),
    );
    place.sandbox.tick();
    await place.pull(['--source', 'workspaces']);
  });

  let everyReport: Promise<CliRun> | undefined;
  /** Writes every report once for the tests of this file. */
  const writeEveryReport = () => {
    everyReport ??= place.tidemark(['report']);
    return everyReport;
  };

  it('writes every report and prints the files', async () => {
    const { exit, stdout } = await writeEveryReport();
    expect(exit).toBe(0);
    const files = stdout.trim().split('\n');
    expect(files).toContain(join(place.folder, 'out', 'drift.html'));
    expect(files.every((file) => existsSync(file))).toBe(true);
    expect(existsSync(join(place.folder, 'out', 'index.html'))).toBe(true);
  });

  it('prints the data of one report as an object, of several as an array, in the form of NAME.json', async () => {
    const one = (await place.tidemark(['report', 'drift', '--json', '--out', 'elsewhere'])).json<Data>();
    expect(one).toEqual(JSON.parse(await readFile(join(place.folder, 'elsewhere', 'drift.json'), 'utf8')));
    expect(one).toMatchObject({
      report: 'drift',
      sources: [{ target: 'acme', source: 'workspaces', status: 'complete', stale: false }],
    });
    const [counts] = await place.rows(
      `select count(*) as workspaces, count(*) filter (drifted) as drifted, count(*) filter (not drifted) as clean,
         count(*) filter (drifted is null) as unknown, sum(resources_drifted) as resources_drifted from workspaces`,
    );
    expect(one.summary, 'agrees with plain SQL over the warehouse').toMatchObject(counts ?? {});
    const both = await place.tidemark(['report', 'drift', 'agent-health', '--json']);
    const two = both.json<readonly Data[]>();
    expect(two.map(({ report }) => report)).toEqual(['drift', 'agent-health']);
    expect(both.stdout, 'indented as one JSON text').toBe(`${JSON.stringify(two, undefined, 2)}\n`);
  });

  it('shows the last pull by default, with its age at the present time', async () => {
    const second = place.sandbox.now.toISOString().replace('.000Z', 'Z');
    const late = new Date(place.sandbox.now.getTime() + 3 * 24 * 60 * 60_000).toISOString();
    const data = (await place.tidemark(['report', 'drift', '--json', '--now', late])).json<Data>();
    expect(data).toMatchObject({
      as_of: second,
      generated_at: late.replace('.000Z', 'Z'),
      sources: [{ status: 'complete', stale: true }],
    });
  });

  it('shows a past time with --as-of: in a folder of its own, so that the current reports and the archive stay', async () => {
    await writeEveryReport();
    const out = join(place.folder, 'out');
    const current = await readFile(join(out, 'drift.html'), 'utf8');
    const archived = await readdir(join(out, 'archive'));
    const data = (await place.tidemark(['report', 'drift', '--json', '--as-of', first])).json<Data>();
    expect(data).toMatchObject({
      as_of: first.replace('.000Z', 'Z'),
      summary: { workspaces: 20, baseline: true, newly_drifted: 0 },
    });
    expect(data.sources).toMatchObject([{ stale: false }]);
    const folder = join(out, 'as-of', first.replace('.000Z', 'Z').replaceAll(':', ''));
    expect(existsSync(join(folder, 'drift.html'))).toBe(true);
    expect(await readFile(join(folder, 'index.html'), 'utf8')).toContain('Reports of an earlier time');
    expect(await readFile(join(out, 'drift.html'), 'utf8')).toBe(current);
    expect(await readdir(join(out, 'archive'))).toEqual(archived);
  });

  it('shows the ages of the pull for a moment long after it, and whether that pull is stale by then', async () => {
    const show = async (moment: string, now = moment) =>
      (await place.tidemark(['report', 'agent-health', '--json', '--as-of', moment, '--now', now])).json<Data>();
    const [atPull, hoursLater, daysLater] = [
      await show(first),
      await show(new Date(place.sandbox.now.getTime() - 60_000).toISOString()),
      await show('now', new Date(place.sandbox.now.getTime() + 5 * DAY_MS).toISOString()),
    ];
    expect(hoursLater).toEqual({ ...atPull, generated_at: hoursLater.generated_at });
    expect(daysLater.as_of).toBe(place.sandbox.now.toISOString().replace('.000Z', 'Z'));
    const isStale = ({ sources }: Data) =>
      sources.filter(({ status }) => status === 'complete').every(({ stale }) => stale);
    expect([atPull, hoursLater, daysLater].map(isStale)).toEqual([false, false, true]);
  });

  it('may run several times at once into one folder', async () => {
    await place.configure((config) => {
      config.subjectPages = 20;
    });
    const words = ['report', 'drift', '--out', 'shared'];
    const runs = await Promise.all([1, 2, 3].map(() => place.tidemark(words))).finally(() =>
      place.configure((config) => {
        config.subjectPages = 0;
      }),
    );
    expect(runs.map(({ exit, stderr }) => [exit, stderr.includes('error')])).toEqual(runs.map(() => [0, false]));
    expect(await readdir(join(place.folder, 'shared', 'subjects'))).toHaveLength(20);
  });

  it('refuses a time before the first pull in one line', async () => {
    const { exit, stdout, stderr } = await place.tidemark(['report', '--as-of', '2020-01-01']);
    expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
    expect(stderr.trim().split('\n')).toEqual([
      expect.stringContaining(
        `2020-01-01: 2020-01-01T23:59:59.999Z is before the first pull, ${first.replace('.000Z', 'Z')}`,
      ),
    ]);
  });

  it('shows SQL that tidemark sql runs with the same rows', async () => {
    await writeEveryReport();
    expect(await compareShownSql(place, 'version-sprawl')).toBeGreaterThan(6);
  });

  it('rejects an unknown report with a suggestion, and an invalid time', async () => {
    const unknown = await place.tidemark(['report', 'drfit']);
    expect(unknown).toMatchObject({ exit: 2, stdout: '' });
    expect(unknown.stderr).toContain('did you mean drift?');
    expect(await place.tidemark(['report', 'drift', '--as-of', 'some day'])).toMatchObject({ exit: 2 });
  });

  it('suggests a pull where there is no data', async () => {
    const fresh = await testProject();
    const { exit, stderr } = await fresh.tidemark(['report']);
    expect(exit).toBe(3);
    expect(stderr).toContain('tidemark pull');
  });
});
