import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { buildCommand, startCommand } from '../../helpers/built-command.ts';
import { type MailServer, startMailServer } from '../../helpers/mail-server.ts';
import { type TestProject, testProject } from '../../helpers/test-project.ts';

const RECIPIENTS = ['a@acme.example', 'b@acme.example', 'c@acme.example'];
const JOB = {
  pull: ['workspaces', 'agent_pools', 'agents'],
  reports: ['overview', 'drift'],
  mail: { to: RECIPIENTS, when: 'always' },
};

/** What a run delivers: its reports by file, and its mail by recipient. */
type Delivered = Readonly<Record<string, string>>;

/**
 * Kills a job with SIGKILL at `kills` moments up to its last mail: at times spread over the run, and at each mail. The next run
 * delivers the reports and the mail that a run delivers that is never killed.
 */
export async function killNights(kills: number): Promise<void> {
  const command = await buildCommand();
  let onMail: (count: number) => void = () => {};
  const server: MailServer = await startMailServer({
    rejectData: () => void onMail(server.received.length),
  });
  const place = await testProject({ workspaces: 30 });
  await place.configure((config) => {
    config.mail = { smtp: `smtp://127.0.0.1:${server.port}`, from: 'Tidemark <reports@acme.example>' };
    config.subjectPages = 0;
    config.targets = config.targets.filter(({ kind }) => kind === 'platform'); // the job pulls nothing else
  });
  await mkdir(join(place.folder, 'jobs'));
  await writeFile(join(place.folder, 'jobs', 'nightly.yaml'), stringify(JOB));
  const words = () => ['run', 'nightly', '--now', place.sandbox.now.toISOString()];
  const start = () => startCommand(command, words(), place.folder);
  // What is not killed and not measured needs no process of its own.
  const complete = async () => {
    const { exit, stderr } = await place.tidemark(words());
    expect(exit, stderr).toBe(0);
  };
  await complete();
  place.sandbox.tick();
  await saveFolders(place);

  let seen = server.received.length;
  const measured = await start().ended;
  expect(measured.exit, measured.stderr).toBe(0);
  const expected = await readDelivered(place, server, seen);
  expect(JSON.parse(expected['drift.json'] ?? '{}').summary.newly_drifted).toBeGreaterThan(0);

  let durationMs = measured.afterMs;
  for (let kill = 0; kill < kills; ) {
    await restoreFolders(place);
    seen = server.received.length;
    const { process: child, ended } = start();
    // Every third kill comes when the server has accepted some of the mail, or is about to.
    const atMail = kill % 3 === 2 ? seen + (Math.floor(kill / 3) % RECIPIENTS.length) : undefined;
    onMail = (count) => {
      if (count === atMail) child.kill('SIGKILL');
    };
    const afterMs = ((kill + Math.random()) / kills) * durationMs;
    const timer = setTimeout(() => atMail ?? child.kill('SIGKILL'), afterMs);
    const { exit, stderr, afterMs: endedMs } = await ended;
    clearTimeout(timer);
    onMail = () => {};
    if (exit !== null) {
      durationMs = endedMs; // it was faster than the one before, and is not counted
      continue;
    }
    kill++;
    seen = server.received.length;
    const next = await place.tidemark(words());
    const moment = atMail === undefined ? `after ${afterMs.toFixed(0)} ms` : `at mail ${atMail - seen}`;
    expect(next.exit, `${stderr}${next.stderr}`).toBe(0);
    expect(await readDelivered(place, server, seen), `killed ${moment}:\n${stderr}`).toEqual(expected);
  }
}

const FOLDERS = ['data', 'out'];

async function saveFolders({ folder }: TestProject): Promise<void> {
  for (const name of FOLDERS) await cp(join(folder, name), join(folder, 'saved', name), { recursive: true });
}

async function restoreFolders({ folder }: TestProject): Promise<void> {
  for (const name of FOLDERS) {
    await rm(join(folder, name), { recursive: true, force: true });
    await cp(join(folder, 'saved', name), join(folder, name), { recursive: true });
  }
}

async function readDelivered({ folder }: TestProject, server: MailServer, from: number): Promise<Delivered> {
  const delivered: Record<string, string> = {};
  const out = join(folder, 'out');
  for (const file of (await readdir(out)).filter((name) => /\.(?:json|txt)$/u.test(name))) {
    delivered[file] = normalize(await readFile(join(out, file), 'utf8'));
  }
  for (const { recipients, mail } of server.received.slice(from)) {
    const key = recipients.join();
    expect(delivered[key], 'one mail for each recipient').toBeUndefined();
    delivered[key] = normalize(JSON.stringify([mail.subject, mail.text, mail.html]));
  }
  return delivered;
}

/** The next run is a millisecond later. */
function normalize(text: string): string {
  return text.replaceAll(/(\d\d:\d\d:\d\d)\.\d{3}/gu, '$1');
}
