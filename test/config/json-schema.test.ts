import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { jobSchema } from '../../src/config/job.ts';
import { policySchema } from '../../src/config/policy.ts';
import { configSchema } from '../../src/config/schema.ts';
import { readYamlFile } from '../../src/config/yaml.ts';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

/** The schema of a file in the language that editors complete and check it by. */
function toJsonSchema(schema: z.ZodType, title: string) {
  return { title, ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) };
}

test.each([
  ['tidemark', configSchema],
  ['job', jobSchema],
  ['versions', policySchema],
] as const)('the published schema of %s is that of the program', async (name, schema) => {
  const text = `${JSON.stringify(toJsonSchema(schema, `Tidemark: ${name}.yaml`), null, 2)}\n`;
  await expect(text).toMatchFileSnapshot(`../../templates/${name}.schema.json`);
});

interface Node {
  readonly properties?: Readonly<Record<string, Node>>;
  readonly items?: Node;
  readonly anyOf?: readonly Node[];
}

/** Each path with keys, and its keys. */
function listPaths(
  node: Node,
  path: readonly PropertyKey[] = [],
): readonly (readonly [readonly PropertyKey[], string[]])[] {
  const { properties = {}, items, anyOf = [] } = node;
  const own = Object.keys(properties).length === 0 ? [] : [[path, Object.keys(properties)] as const];
  return [
    ...own,
    ...Object.entries(properties).flatMap(([key, inner]) => listPaths(inner, [...path, key])),
    ...(items ? listPaths(items, [...path, 0]) : []),
    ...anyOf.flatMap((inner) => listPaths(inner, path)),
  ];
}

test.each([
  ['configuration', configSchema],
  ['job', jobSchema],
  ['policy', policySchema],
] as const)('keys are suggested at every path of a %s', async (_, schema) => {
  const paths = listPaths(toJsonSchema(schema, '') as Node);
  expect(paths.length).toBeGreaterThan(2);
  const file = join(await tempFolder(), 'file.yaml');
  for (const [path, keys] of paths) {
    const nest = (inner: unknown, part: PropertyKey) => (part === 0 ? [inner] : { [part]: inner });
    await writeFile(file, JSON.stringify(path.reduceRight<unknown>(nest, { ______: 1 })));
    const named = path.map((part) => (part === 0 ? '[0]' : `.${String(part)}`)).join('');
    const field = `${named}.______`.slice(1);
    const line = `file.yaml:1: ${field}: unknown key; known are ${keys.join(', ')}`;
    expect(() => readYamlFile<unknown>(file, schema), field).toThrow(line);
  }
});

test('a wrong key under `sql` is explained by a key of `sql`', async () => {
  const file = join(await tempFolder(), 'file.yaml');
  await writeFile(file, 'sql: { timeuot: 3, memoryLimits: 1GB }\ntargets: [{ limits: { maxPage: 3 } }]');
  const keys = { 'sql.timeuot': 'timeout', 'sql.memoryLimits': 'memoryLimit', 'targets[0].limits.maxPage': 'maxPages' };
  for (const [field, meant] of Object.entries(keys)) {
    expect(() => readYamlFile(file, configSchema)).toThrow(`${field}: unknown key; did you mean ${meant}?`);
  }
});

test('of thousands of wrong keys, the first are named', async () => {
  const file = join(await tempFolder(), 'file.yaml');
  await writeFile(file, Array.from({ length: 3_000 }, (_, index) => `key${index}: 1\n`).join(''));
  const says = /^file\.yaml:1: key0: unknown key.*\n(?:file\.yaml:\d+: key\d+: .*\n){99}file\.yaml: and 2900 more$/u;
  expect(() => readYamlFile(file, jobSchema)).toThrow(says);
});

test('init names the schema in its first line, and the file is there', async () => {
  const cwd = await tempFolder();
  expect((await cli(['init'], { cwd })).exit).toBe(0);
  const [first = ''] = (await readFile(join(cwd, 'tidemark.yaml'), 'utf8')).split('\n', 1);
  const [, url = ''] = /^# yaml-language-server: \$schema=(file:.+)$/u.exec(first) ?? [];
  expect(JSON.parse(await readFile(new URL(url), 'utf8'))).toMatchObject({ title: 'Tidemark: tidemark.yaml' });
  for (const job of ['nightly', 'weekly']) {
    const text = await readFile(join(PACKAGE_ROOT, 'jobs', `${job}.yaml`), 'utf8');
    expect(text).toMatch(/^# yaml-language-server: \$schema=\.\.\/templates\/job\.schema\.json\n/u);
  }
});
