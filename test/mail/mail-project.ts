import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { CLOSED_PORT } from '../helpers/mail-server.ts';
import { prepareProject, type TestProject, testProject } from '../helpers/test-project.ts';

export const MAIL = { to: ['Platform <platform@acme.example>'], when: 'always' };

export const SIZE = { workspaces: 10 };

/**
 * A sandbox with a nightly job that mails to a server on this port.
 * @param from a project folder to start with; @default nothing was pulled
 */
export async function mailing(
  port: number,
  more: Readonly<Record<string, unknown>> = {},
  from?: string,
): Promise<TestProject> {
  const place = await testProject({ ...SIZE, ...(from && { from }) });
  await configureMail(place, port, more);
  return place;
}

async function configureMail(place: TestProject, port: number, more: Readonly<Record<string, unknown>> = {}) {
  await writeJob(place, { pull: ['workspaces'], reports: ['drift'], mail: MAIL, ...more });
  await place.configure((config) => {
    config.mail = { smtp: `smtp://127.0.0.1:${port}`, from: 'Tidemark <reports@acme.example>' };
    config.subjectPages = 0; // they take half of the time of a run
  });
}

/** A project after a run whose mail server was unreachable, and what the run left. */
export const pendingRun = () =>
  prepareProject('mail-pending', SIZE, async (place) => {
    await configureMail(place, CLOSED_PORT);
    await writeFile(join(place.folder, 'run.json'), JSON.stringify(await place.tidemark(['run', 'nightly'])));
  });

/** A project after a run of a job without mail. */
export const quietRun = () =>
  prepareProject('mail-none', SIZE, async (place) => {
    await place.configure((config) => {
      config.subjectPages = 0;
    });
    await writeJob(place, { pull: ['workspaces'], reports: ['drift'] });
    await place.tidemark(['run', 'nightly']);
  });

export async function writeJob(
  { folder }: TestProject,
  job: Readonly<Record<string, unknown>>,
  name = 'nightly',
): Promise<void> {
  await mkdir(join(folder, 'jobs'), { recursive: true });
  await writeFile(join(folder, 'jobs', `${name}.yaml`), stringify(job));
}
