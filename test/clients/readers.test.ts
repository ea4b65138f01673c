import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { buildCommand } from '../helpers/built-command.ts';
import { copyServedProject } from '../helpers/served.ts';
import { cleanAtEnd } from '../helpers/temp.ts';
import { cacheFolder, fillOnce, hasTool, INSTALL_MS, installPython } from './install.ts';

const atEnd = cleanAtEnd();

/**
 * Runs the examples of docs/analysts.md as printed, in a folder with a published warehouse: Python, the duckdb CLI, Java (the driver of
 * DBeaver and Metabase) and R, as far as the machine has them.
 */
const HERE = join(PACKAGE_ROOT, 'test', 'clients', 'readers');
const DOCUMENT = readFileSync(join(PACKAGE_ROOT, 'docs', 'analysts.md'), 'utf8');
const execute = promisify(execFile);

/** The code of a section of the document. */
function findExample(heading: string, language: string): string {
  const [, section = ''] = DOCUMENT.split(`\n${heading}\n`);
  const code = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'u').exec(section)?.[1];
  if (code === undefined) throw new Error(`docs/analysts.md has no ${language} in ${heading}`);
  return code;
}

const isInstalled = (command: string, argument: string, what: string) =>
  hasTool(command, argument, `the example for ${what} is not run`);

let folder: string;
beforeAll(async () => {
  folder = await copyServedProject(atEnd);
}, INSTALL_MS);

/** Every example counts the 20 workspaces by project: the last number of each line. */
function countWorkspaces(output: string): number {
  return [...output.matchAll(/\s(\d+)\W*$/gmu)].reduce((sum, [, count]) => sum + Number(count), 0);
}

describe.skipIf(!isInstalled('python3', '--version', 'Python and the duckdb CLI'))('from PyPI', () => {
  let bin: string;
  beforeAll(async () => {
    bin = await installPython('readers/requirements.txt');
  }, INSTALL_MS);

  test('Python reads the published file with pandas and polars', async () => {
    const { stdout } = await execute(join(bin, 'python'), ['-c', findExample('### Python', 'python')], { cwd: folder });
    const [pandas = '', polars = ''] = stdout.split(/^shape: .*$/mu);
    expect(countWorkspaces(pandas)).toBe(20);
    expect(polars).toMatch(/project_name[\s\S]*workspaces/u);
    expect(stdout).toMatch(/^\[\(\d+,\)\]$/mu);
  });

  test('the duckdb CLI reads the published file', async () => {
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
    const { stdout } = await execute('sh', ['-ec', findExample('### The duckdb CLI', 'sh')], { cwd: folder, env });
    expect(stdout).toMatch(/project_name[\s\S]*workspaces/u);
    expect(countWorkspaces(stdout)).toBe(20);
  });

  test('polars reads the export to Parquet', async () => {
    await execute(process.execPath, [await buildCommand(), 'export', '--out', 'parquet'], { cwd: folder });
    const { stdout } = await execute(join(bin, 'python'), ['-c', findExample('## Parquet', 'python')], { cwd: folder });
    expect(stdout).toMatch(/project_name[\s\S]*len/u);
  });
});

describe.skipIf(!isInstalled('mvn', '--version', 'DBeaver'))('from Maven', () => {
  const place = cacheFolder('readers/pom.xml');
  const words = ['-q', '-f', join(HERE, 'pom.xml'), 'dependency:copy-dependencies', `-DoutputDirectory=${place}`];
  beforeAll(async () => {
    await fillOnce(place, async () => {
      await mkdir(place, { recursive: true });
      await execute('mvn', words);
    });
  }, INSTALL_MS);

  test('the JDBC driver reads the published file with the properties for DBeaver', async () => {
    const [, section = ''] = DOCUMENT.split('\n### DBeaver\n');
    const [, property = '', value = ''] = /`([\w.]+)` = `(\w+)`/u.exec(section) ?? [];
    const [, scheme = ''] = /`(jdbc:duckdb:)/u.exec(section) ?? [];
    const words = [join(HERE, 'Workspaces.java'), `${scheme}data/warehouse.duckdb`, property, value];
    const { stdout } = await execute('java', ['-cp', join(place, '*'), ...words], { cwd: folder });
    expect(countWorkspaces(stdout)).toBe(20);
  });
});

describe.skipIf(!isInstalled('Rscript', '--version', 'R'))('from CRAN', () => {
  test('R reads the published file', async () => {
    const { stdout } = await execute('Rscript', ['-e', findExample('### R', 'r')], { cwd: folder });
    expect(countWorkspaces(stdout)).toBe(20);
  });
});
