import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { loadSavedQueries } from '../../src/ask/query/saved.ts';
import { loadAssets } from '../../src/ask/serve/files.ts';
import { completeWords } from '../../src/cli/complete-words.ts';
import { loadConfig } from '../../src/config/config.ts';
import { readJobs, readTimeZone } from '../../src/config/job.ts';
import { loadPolicy } from '../../src/config/policy.ts';
import { formatError } from '../../src/core/errors.ts';
import { overlayRoots } from '../../src/core/paths.ts';
import { Redactor } from '../../src/core/redact/redactor.ts';
import { readRules } from '../../src/tell/findings/rules.ts';
import { readTemplate } from '../../src/tell/reports/templates.ts';
import { createSqlFiles } from '../../src/warehouse/sql-files.ts';
import { tempFolder } from '../helpers/temp.ts';

const TARGET = '{ name: nomad, kind: autoscaler, url: "http://127.0.0.1:1" }';
const load = (folder: string) => loadConfig(join(folder, 'tidemark.yaml'), {}, new Redactor());

/** What is discovered beside a configuration, and what of it is read as every command does. */
const READERS: Readonly<Record<string, (folder: string) => unknown>> = {
  'queries/findings/own.sql': (folder) => readRules(createSqlFiles(overlayRoots(folder))).invalid[0]?.error,
  'queries/saved/own.sql': (folder) => loadSavedQueries(overlayRoots(folder)).get('own')?.problem,
  'jobs/own.yaml': (folder) => readJobs(load(folder), {}).problems[0],
  'jobs/nightly.yaml': (folder) => readTimeZone(load(folder), {}),
  'policy/versions.yaml': loadPolicy,
  'reports/own.hbs': (folder) => readTemplate(overlayRoots(folder), 'own.hbs'),
  'reports/serve/own.css': (folder) => loadAssets(overlayRoots(folder)),
};

async function withPipe(name: string): Promise<string> {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), `targets: [${TARGET}]`);
  await mkdir(dirname(join(folder, name)), { recursive: true });
  execFileSync('mkfifo', [join(folder, name)]);
  return folder;
}

test.runIf(process.platform !== 'win32').each(Object.keys(READERS))('a pipe as %s is not waited for', async (name) => {
  const folder = await withPipe(name);
  const problem = await (async () => READERS[name]?.(folder))().catch(formatError);
  expect(problem).toMatch(/own|nightly|versions/u);
  expect(problem).toContain('cannot be read: it is not a regular file');
});

test.runIf(process.platform !== 'win32')('a pipe as a table completes nothing', async () => {
  const folder = await withPipe('queries/tables/own.sql');
  expect(await completeWords(['pull', '--source', ''], folder)).toBe('');
});
