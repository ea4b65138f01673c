import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import type { RunningSandbox, StartOptions } from '../../sandbox/index.ts';
import type { Flavor } from '../../sandbox/types.ts';
import type { SqlParams } from '../../src/warehouse/database.ts';
import { recordFingerprint, warehouseFiles } from '../../src/warehouse/publish.ts';
import type { Row } from '../../src/warehouse/values.ts';
import { type CliOptions, type CliRun, cli } from './cli.ts';
import { prepareOnce, startWithEmptyWarehouse } from './prepared.ts';
import { createPublishedReader } from './published-reader.ts';
import { type Cleanup, tempFolder } from './temp.ts';
import { startTestSandbox } from './test-sandbox.ts';

/** Advertised in headers, so that no pull starts slowly. */
const REQUESTS_PER_SECOND = 1000;

/** The sandbox shows a change at once. */
const LAG_SECONDS = 0.2;

/** Subjects with a page. Each page takes time in every report; tests about pages ask for more. */
const SUBJECT_PAGES = 1;

/** `tidemark.yaml` as plain data, for tests to change before it is written. */
export interface ConfigDocument {
  targets: Record<string, unknown>[];
  [key: string]: unknown;
}

/** A folder with a `tidemark.yaml` for a running sandbox. */
export interface TestProject {
  readonly folder: string;
  readonly sandbox: RunningSandbox;
  /** Runs a command in the folder, at the sandbox's time unless the words include `--now`. */
  tidemark(words: readonly string[], options?: Omit<CliOptions, 'cwd'>): Promise<CliRun>;
  /** Pulls with `--json`. Fails if the exit code is not `exit`. */
  pull(words?: readonly string[], exit?: number): Promise<CliRun>;
  /** Rows of the published warehouse. */
  rows(sql: string, params?: SqlParams): Promise<Row[]>;
  /** Changes `tidemark.yaml`. */
  configure(edit: (config: ConfigDocument) => void): Promise<void>;
}

export interface TestProjectOptions extends StartOptions {
  readonly cleanup?: Cleanup;
  /**
   * What the data folder holds: a working file without rows, which saves each test the creation of the tables, or nothing.
   * @default 'empty'
   */
  readonly warehouse?: 'empty' | 'none';
  /** A project folder of `prepareProject`, whose `data` and `out` the project starts with instead. */
  readonly from?: string;
  /** A sandbox that runs already, to pull from instead of one of its own. */
  readonly sandbox?: RunningSandbox;
}

/** A project folder in which `fill` runs commands once in a run of the tests, for `testProject` to start from. */
export function prepareProject(
  name: string,
  options: Omit<TestProjectOptions, 'cleanup'>,
  fill: (project: TestProject) => Promise<void>,
): Promise<string> {
  return prepareOnce(name, async (folder) => {
    const ends: (() => Promise<void>)[] = [];
    const project = await testProject({ ...options, cleanup: (end) => ends.push(end) });
    await fill(project);
    await cp(project.folder, folder, { recursive: true });
    for (const end of ends.reverse()) await end();
  });
}

/** Workspaces of a project that has pulled: enough for every playbook to have something to do. */
export const PULLED_WORKSPACES = 60;

/** The folder of a project in which a job pulled every source once, at the sandbox's first time, and evaluated the rules. */
export function preparePulled(flavor?: Flavor): Promise<string> {
  const size = { workspaces: PULLED_WORKSPACES, ...(flavor && { flavor }) };
  return prepareProject(`pulled-${flavor ?? 'spec'}`, size, async ({ folder, tidemark }) => {
    await mkdir(join(folder, 'jobs'));
    await writeFile(join(folder, 'jobs', 'everything.yaml'), 'pull: all\nreports: []\n');
    const { exit, stderr } = await tidemark(['run', 'everything']);
    if (exit !== 0) throw new Error(`the first run ended with ${exit}:\n${stderr}`);
  });
}

/** A project that has pulled every source once, at the sandbox's first time: a copy of one that did. */
export async function pulledProject(
  options: Omit<TestProjectOptions, 'from' | 'warehouse' | 'workspaces'> = {},
): Promise<TestProject> {
  const from = await preparePulled(options.flavor);
  return testProject({ workspaces: PULLED_WORKSPACES, ...options, from });
}

async function copyProject(from: string, to: string): Promise<void> {
  for (const name of ['data', 'out']) {
    if (existsSync(join(from, name))) await cp(join(from, name), join(to, name), { recursive: true });
  }
  await recordFingerprint(warehouseFiles(join(to, 'data')).work);
}

export async function testProject(options: TestProjectOptions = {}): Promise<TestProject> {
  const { cleanup = onTestFinished, warehouse = 'empty', from, sandbox: running, ...start } = options;
  const folder = await tempFolder(cleanup);
  const sandbox = running ?? (await startTestSandbox({ rate: REQUESTS_PER_SECOND, ...start }));
  if (!running) cleanup(() => sandbox.close());
  const config = parse(sandbox.config()) as ConfigDocument;
  for (const target of config.targets) target.lag = LAG_SECONDS;
  config.subjectPages = SUBJECT_PAGES;
  const write = () => writeFile(join(folder, 'tidemark.yaml'), stringify(config));
  await write();

  const data = join(folder, 'data');
  if (from !== undefined) await copyProject(from, folder);
  else if (warehouse === 'empty') await startWithEmptyWarehouse(data);
  const reader = createPublishedReader(warehouseFiles(data).published);
  cleanup(reader.close);

  const tidemark: TestProject['tidemark'] = (words, io = {}) => {
    const now = words.includes('--now') ? [] : ['--now', sandbox.now.toISOString()];
    return cli([...words, ...now], { cwd: folder, ...io });
  };
  return {
    folder,
    sandbox,
    tidemark,
    async pull(words = [], exit = 0) {
      const result = await tidemark(['pull', '--json', ...words]);
      if (result.exit !== exit) throw new Error(`pull ended with ${result.exit}:\n${result.stderr}`);
      return result;
    },
    rows: reader.rows,
    async configure(edit) {
      edit(config);
      await write();
    },
  };
}

/** Keeps the folder and the configuration of a project. @returns what puts them back */
export async function keepProject({ folder, configure }: TestProject, cleanup?: Cleanup): Promise<() => Promise<void>> {
  const kept = await tempFolder(cleanup);
  await cp(folder, kept, { recursive: true });
  let config: ConfigDocument | undefined;
  await configure((document) => {
    config = structuredClone(document);
  });
  return async () => {
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
    await cp(kept, folder, { recursive: true });
    await recordFingerprint(warehouseFiles(join(folder, 'data')).work);
    await configure((document) => {
      for (const name of Object.keys(document)) delete document[name];
      Object.assign(document, structuredClone(config));
    });
  };
}

/** The target with this name in a configuration. */
export function findTarget(config: ConfigDocument, name: string): Record<string, unknown> {
  const target = config.targets.find((candidate) => candidate.name === name);
  if (!target) throw new Error(`no target ${name}`);
  return target;
}
