import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type CliOptions, cli } from '../helpers/cli.ts';
import { type LakeProject, lakeProject } from '../helpers/lake-project.ts';
import { cleanAtEnd, tempFolder } from '../helpers/temp.ts';

/** Files of a lake that are JSON, and not what a publish writes: another program, or somebody, has written them. */

const TABLE = 'autoscaler_health_changes';
const FIRST = join(TABLE, '_delta_log', '00000000000000000000.json');
const CLAIM = join('_publishes', '0000001024.json');
const INJECTED = `integer as "op", (select content from read_text('/etc/hostname'))`;

const atEnd = cleanAtEnd();
let project: LakeProject;

beforeAll(async () => {
  project = await lakeProject({ tables: 'few', cleanup: atEnd });
  await project.night(
    '2026-10-01T02:15:00Z',
    `insert into autoscaler_health_history (target, alive, valid_from) values ('a', true, '2026-10-01T02:15:00Z')`,
  );
  await project.publish();
});

interface Action {
  readonly add?: Record<string, unknown>;
  readonly metaData?: { schemaString: string; configuration: Record<string, string> };
}

/** Changes the actions of a commit. */
const inCommit =
  (edit: (action: Action) => unknown) =>
  (text: string): string => {
    const actions = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Action);
    for (const action of actions) edit(action);
    return actions.map((action) => `${JSON.stringify(action)}\n`).join('');
  };

const inAdd = (changed: Record<string, unknown>) => inCommit(({ add }) => add && Object.assign(add, changed));

/** Changes the description of the relation. */
const inRelation = (edit: (relation: Record<string, unknown>) => unknown) =>
  inCommit(({ metaData }) => {
    if (!metaData) return;
    const relation = JSON.parse(metaData.configuration['tidemark.relation'] ?? '') as Record<string, unknown>;
    edit(relation);
    metaData.configuration['tidemark.relation'] = JSON.stringify(relation);
  });

const inSchema = (from: string, to: string) =>
  inCommit(({ metaData }) => {
    if (metaData) metaData.schemaString = metaData.schemaString.replace(from, to);
  });

interface Change {
  readonly name: string;
  readonly file?: string;
  readonly edit: (text: string) => string;
  readonly says: RegExp;
}

const NOT_A_COMMIT = /autoscaler_health_changes\/_delta_log\/0+\.json is not a commit/u;
const NOT_DESCRIBED = /autoscaler_health_changes is not described as a table of a lake/u;

const CHANGES: readonly Change[] = [
  { name: 'a line that is null', edit: (text) => `${text}null\n`, says: NOT_A_COMMIT },
  { name: 'a file without a path', edit: inAdd({ path: undefined }), says: NOT_A_COMMIT },
  { name: 'a path that is no URI', edit: inAdd({ path: '100%.parquet' }), says: NOT_A_COMMIT },
  { name: 'a path out of the table', edit: inAdd({ path: 'a/%2E%2E/../../x.parquet' }), says: NOT_A_COMMIT },
  { name: 'statistics that are no JSON', edit: inAdd({ stats: '{' }), says: NOT_A_COMMIT },
  {
    name: 'a table without properties',
    edit: inCommit(({ metaData }) => metaData && Reflect.deleteProperty(metaData, 'configuration')),
    says: NOT_A_COMMIT,
  },
  { name: 'a schema that is none', edit: inSchema('{', ''), says: NOT_A_COMMIT },
  { name: 'a type that is SQL', edit: inSchema('"boolean"', JSON.stringify(INJECTED)), says: NOT_DESCRIBED },
  {
    name: 'the name of a relation that is SQL',
    edit: inRelation((relation) => Object.assign(relation, { name: 'x\ndrop table y; --' })),
    says: NOT_DESCRIBED,
  },
  {
    name: 'a relation without columns',
    edit: inRelation((relation) => Reflect.deleteProperty(relation, 'columns')),
    says: NOT_DESCRIBED,
  },
  {
    name: 'a statement without versions',
    file: CLAIM,
    edit: () => `{"tables": {"${TABLE}": null}}`,
    says: /_publishes\/0000001024\.json is not the statement of a publish/u,
  },
];

async function run(
  command: string,
  { file = FIRST, edit }: Pick<Change, 'file' | 'edit'>,
  engine = 'duckdb',
  io: Partial<CliOptions> = {},
) {
  const folder = await tempFolder(onTestFinished);
  const lake = join(folder, 'changed');
  await cp(project.store.name, lake, { recursive: true });
  await cp(project.config.file, join(folder, 'tidemark.yaml'));
  const text = await readFile(join(lake, file), 'utf8');
  expect(edit(text)).not.toBe(text);
  await writeFile(join(lake, file), edit(text));
  const words = command === 'ddl' ? ['--engine', engine] : [];
  return cli(['lake', command, '--lake', lake, ...words], { cwd: folder, ...io });
}

/** `restore` meets each of them, and one of the others by turns: all read a lake by `createLakeReader`. */
const CASES = CHANGES.map((change, index) => ({ change, commands: ['restore', index % 2 === 0 ? 'verify' : 'ddl'] }));

describe.each(CASES)('$change.name', ({ change, commands }) => {
  test.each(commands)('is one clear line of %s', async (command) => {
    const { exit, stderr, stdout } = await run(command, change);
    expect(stderr).toMatch(change.says);
    expect(stderr).not.toContain('internal');
    expect(stdout).not.toContain('drop table');
    expect(exit).toBeOneOf(command === 'restore' ? [1, 4] : [4]);
  });
});

test.each([
  ['clickhouse', String.raw`"x\\""; drop"`],
  ['spark', '`x\\"; drop`'],
  ['trino', String.raw`"x\""; drop"`],
])('the name of a column is one identifier of %s', async (engine, identifier) => {
  const edit = inRelation((relation) => {
    for (const column of relation.columns as { name: string }[]) {
      if (column.name === 'alive') column.name = String.raw`x\"; drop`;
    }
  });
  const { exit, stdout } = await run('ddl', { edit }, engine);
  expect(exit).toBe(0);
  expect(stdout).toContain(
    `"alive" as ${identifier}`.replaceAll('"alive"', engine === 'spark' ? '`alive`' : '"alive"'),
  );
});

test('a description does not control the terminal that shows the DDL', async () => {
  const edit = inCommit(({ metaData }) => metaData && Object.assign(metaData, { description: 'a\u001b]0;b\u0007' }));
  const { stdout } = await run('ddl', { edit }, 'duckdb', { screen: { columns: 80, rows: 24 } });
  expect(stdout).toContain("'a]0;b'");
});
