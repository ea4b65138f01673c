import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type CliRun, cli } from '../helpers/cli.ts';
import { tempFolder } from '../helpers/temp.ts';

const TARGET = '{ name: acme, kind: platform, url: "https://tfe.example", organization: acme, token: abcd }';

/** Runs `playbook list`, the cheapest command that reads the whole configuration, over a file of these lines. */
async function withConfig(lines: readonly string[], env: Record<string, string> = {}): Promise<CliRun> {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'tidemark.yaml'), lines.join('\n'));
  return cli(['playbook', 'list'], { cwd, env });
}

async function refusal(lines: readonly string[], env?: Record<string, string>): Promise<string> {
  const { exit, stderr, stdout } = await withConfig(lines, env);
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  return stderr;
}

describe('a wrong configuration ends with 2 and says where', () => {
  test.each(['utf16le', 'latin1'] as const)('the encoding %s', async (encoding) => {
    const cwd = await tempFolder();
    await writeFile(join(cwd, 'tidemark.yaml'), `\ufefftargets: [${TARGET}] # für alle`, encoding);
    const { exit, stderr } = await cli(['playbook', 'list'], { cwd });
    expect([exit, stderr]).toEqual([
      2,
      expect.stringMatching(/tidemark\.yaml cannot be read: it is not UTF-8; save it/u),
    ]);
  });

  test.each([
    [
      'an unknown key, with the nearest',
      ['tagets: []', `targets: [${TARGET}]`],
      /tidemark\.yaml:1: tagets: unknown key; did you mean targets\?/,
    ],
    [
      'a name that no folder can have',
      [`targets: [${TARGET.replace('acme', 'a'.repeat(256))}]`],
      /tidemark\.yaml:1: targets\[0\]\.name: must have at most 255 characters: a folder has this name/,
    ],
    [
      'a folder that DuckDB does not write to',
      [`targets: [${TARGET}]`, 'data: ./which?/data'],
      /data: \S+which\?\/data: a warehouse cannot be in a folder with a question mark in its path/,
    ],
    [
      'an unknown key of a target',
      ['targets:', '  - { name: a, kind: mesh, url: "http://x", tokn: y }'],
      /tidemark\.yaml:2: targets\[0\]\.tokn: unknown key; did you mean token\?/,
    ],
    [
      'an unknown threshold',
      [`targets: [${TARGET}]`, 'thresholds: { deadAgentHour: 3 }'],
      /tidemark\.yaml:2: thresholds\.deadAgentHour: unknown key; did you mean deadAgentHours\?/,
    ],
    [
      'a second document',
      [`targets: [${TARGET}]`, '---', `targets: [${TARGET}]`],
      /tidemark\.yaml:2: not valid YAML: a second document begins here/,
    ],
    [
      'a missing variable',
      ['targets:', '  - name: acme', '    kind: mesh', '    url: http://x', `    token: \${NOT_THERE}`],
      /tidemark\.yaml:5: targets\[0\]\.token: the environment variable NOT_THERE is not set/,
    ],
    [
      'a reference that does not end',
      ['targets:', '  - name: acme', '    kind: mesh', '    url: http://x', `    token: \${NOT_THERE`],
      /tidemark\.yaml:5: targets\[0\]\.token: after `\$\{` the brace that closes it is missing\n$/,
    ],
    [
      'a missing file',
      ['targets:', '  - name: acme', '    kind: mesh', '    url: http://x', `    token: \${file:nowhere}`],
      /tidemark\.yaml:5: targets\[0\]\.token: \$\{file:nowhere\}: the file does not exist/,
    ],
    [
      'two targets of one name',
      [`targets: [${TARGET},`, `  ${TARGET}]`],
      /tidemark\.yaml:2: targets\[1\]\.name: `acme` is already the name of targets\[0\]/,
    ],
    [
      'two targets whose names differ in their case',
      [`targets: [${TARGET},`, `  ${TARGET.replace('acme', 'Acme')}]`],
      /tidemark\.yaml:2: targets\[1\]\.name: `Acme` is already the name of targets\[0\] but for its case, which/,
    ],
    [
      'a target with the name of the mark of a run',
      ['targets:', '  - { name: Unfinished.json, kind: mesh, url: "http://x" }'],
      /tidemark\.yaml:2: targets\[0\]\.name: is the name of a file in the landing of each run/,
    ],
    [
      'a target with the name of the plan of a run',
      ['targets:', '  - { name: run.json, kind: mesh, url: "http://x" }'],
      /tidemark\.yaml:2: targets\[0\]\.name: is the name of a file in the landing of each run/,
    ],
    [
      'an address of facts that is none',
      [`targets: [${TARGET}]`, 'lifecycle: { url: nowhere }'],
      /tidemark\.yaml:2: lifecycle\.url: must be a URL that begins with https:\/\/ or http:\/\//,
    ],
    [
      'an address of facts with a password',
      [`targets: [${TARGET}]`, 'lifecycle: { url: "https://:secret@x.example/{product}" }'],
      /tidemark\.yaml:2: lifecycle\.url: must not contain a user or password/,
    ],
    [
      'a URL that is none',
      ['targets:', '  - { name: a, kind: mesh, url: tfe.example }'],
      /tidemark\.yaml:2: targets\[0\]\.url: is not a URL such as/,
    ],
    [
      'a URL of another protocol',
      ['targets:', '  - { name: a, kind: mesh, url: "ftp://x" }'],
      /url: must begin with https:\/\/ or http:\/\//,
    ],
    [
      'a URL with a password',
      ['targets:', '  - { name: a, kind: mesh, url: "https://u:p@x" }'],
      /url: must not contain a user or password; use token/,
    ],
    [
      'a URL with a space, or with a mark behind which a path is not sent',
      [
        'targets:',
        ...['http://x ', 'http://x/?', 'http://x/#'].map(
          (url, at) => `  - { name: t${at}, kind: mesh, url: "${url}" }`,
        ),
      ],
      /:2: targets\[0\]\.url: must not contain a space, .*\n.*:3: targets\[1\]\.url: must not .*\n.*:4: targets\[2\]\.url: must not/,
    ],
    [
      'a tag that is not known',
      ['targets:', '  - { name: a, kind: mesh, url: "http://x", token: !vault encrypted }'],
      /tidemark\.yaml:2: not valid YAML: Unresolved tag: !vault/,
    ],
    [
      'a mount that is there twice',
      ['targets:', '  - { name: a, kind: mesh, url: "http://x", mounts: { mesh: [consul, /consul/] } }'],
      /:2: targets\[0\]\.mounts\.mesh: must be a mount, or a list of different mounts$/m,
    ],
    [
      'a service that is there twice',
      ['targets:', '  - { name: a, kind: mesh, url: "http://x", namespace: team, services: [web, api, team/web] }'],
      /:2: targets\[0\]\.services: names a service twice$/m,
    ],
    [
      'sizes that no machine has',
      [`targets: [${TARGET}]`, 'memoryLimit: 0GB', 'sql: { temporaryLimit: 99999999999TB }'],
      /:2: memoryLimit: must be above 0, and .*\n.*:3: sql\.temporaryLimit: must be above 0, and /,
    ],
    [
      'a wrong type',
      [`targets: [${TARGET}]`, 'landingDays: many'],
      /tidemark\.yaml:2: landingDays: must be a number$/m,
    ],
    [
      'a number below its bound',
      [`targets: [${TARGET}]`, 'landingDays: 0', 'fullReadDays: -1'],
      /:2: landingDays: must be above 0\n.*:3: fullReadDays: must be at least 0$/m,
    ],
    [
      'a target without a name',
      ['targets: [{ kind: mesh, url: "http://x" }]'],
      /:1: targets\[0\]\.name: is required$/m,
    ],
    [
      'a text that is too long',
      [`targets: [${TARGET}]`, 'pricing: { perResourceMonth: 1, currency: doubloons of gold }'],
      /:2: pricing\.currency: must be at most 10 characters long$/m,
    ],
    [
      'a section of which every line is a comment',
      [`targets: [${TARGET}]`, 'thresholds:', '  # tokenDays: 14'],
      /:2: thresholds: is empty; must be a map of keys$/m,
    ],
    [
      'a wrong kind',
      ['targets:', '  - { name: a, kind: platfrom, url: "http://x" }'],
      /tidemark\.yaml:2: targets\[0\]\.kind: must be one of platform, secrets/,
    ],
    [
      'a platform without organization',
      ['targets:', '  - { name: a, kind: platform, url: "http://x", token: abcd }'],
      /targets\[0\]\.organization: is required for kind platform/,
    ],
    ['no target', ['targets: []'], /tidemark\.yaml:1: targets: must name at least one target/],
    ['an empty file', [''], /targets: must be a list of targets/],
    [
      'a list that contains itself',
      ['targets: &all [*all]'],
      /tidemark\.yaml: an alias cannot be resolved: .*circular/,
    ],
    [
      'a length of time that no calendar has',
      [`targets: [${TARGET}]`, 'reportDays: 1e26', 'schedule: { catchUpHours: 1e26 }'],
      /:2: reportDays: must be at most 365000\n.*:3: schedule\.catchUpHours: must be at most/,
    ],
    ['text that is no YAML', ['targets: [', 'x: }'], /tidemark\.yaml:\d: not valid YAML: /],
    ['a list where a map belongs', ['- a'], /tidemark\.yaml:1: must be a map of keys/],
    [
      'a client certificate without its key',
      ['targets:', '  - { name: a, kind: mesh, url: "http://x", clientCert: c.pem }'],
      /clientCert: requires clientKey, and clientKey requires it/,
    ],
  ])('%s', async (_what, lines, message) => {
    expect(await refusal(lines)).toMatch(message);
  });

  test('everything at once, a line each, in the order of the file', async () => {
    const stderr = await refusal([
      'landingDays: -1',
      'dataa: ./x',
      'targets:',
      '  - name: one',
      '    kind: platform',
      '    url: not a url',
      `    token: \${MISSING}`,
      '    limits: { requestsPerSecond: fast }',
      '  - { name: one, kind: mesh, url: "ftp://x", extra: 1 }',
    ]);
    const reported = stderr
      .trim()
      .split('\n')
      .map((line) => /^(?:error: )?tidemark\.yaml:(\d+: [^:]+): ./u.exec(line)?.[1]);
    expect(reported).toEqual([
      '1: landingDays',
      '2: dataa',
      '4: targets[0].organization',
      '6: targets[0].url',
      '7: targets[0].token',
      '8: targets[0].limits.requestsPerSecond',
      '9: targets[1].extra',
      '9: targets[1].url',
      '9: targets[1].name',
    ]);
  });

  test('a file that is not there names it and says what to do', async () => {
    const { exit, stderr } = await cli(['status', '--config', 'elsewhere.yaml'], { cwd: await tempFolder() });
    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /elsewhere\.yaml does not exist\n {2}write one with `tidemark --config elsewhere.yaml init`, or name one with --config FILE/,
    );
  });

  test('a message does not repeat what is no name of a variable between the braces', async () => {
    const stderr = await refusal([`data: "\${DATA:-hunter2}"`, `targets: [${TARGET}]`, `output: "\${toString}"`]);
    expect(stderr).not.toContain('hunter2');
    expect(stderr).toMatch(/:1: data: between .* is no name of a variable\n.*:3: output: .* toString is not set/);
  });

  test('no value of a variable is repeated', async () => {
    const stderr = await refusal([`targets: [{ name: a, kind: mesh, url: "\${URL}" }]`], { URL: 'hunter2-not-a-url' });
    expect(stderr).not.toContain('hunter2');
  });
});

test.each([
  ['an anchor that does not exist', 'data: *missing\n'],
  [
    'aliases that multiply',
    `a: &a [x, x, x, x, x, x, x, x, x, x]\n${'bcdefgh'.replaceAll(/./gu, (name) => {
      const earlier = String.fromCharCode(name.charCodeAt(0) - 1);
      return `${name}: &${name} [${Array.from({ length: 10 }, () => `*${earlier}`).join(', ')}]\n`;
    })}`,
  ],
])('%s is one line, and exit 2', async (_, text) => {
  const folder = await tempFolder();
  await writeFile(join(folder, 'tidemark.yaml'), text);
  const { exit, stderr } = await cli(['status'], { cwd: folder });
  expect(exit).toBe(2);
  expect(stderr).toMatch(/^error: tidemark\.yaml.*alias.*\n$/iu);
});

test('every command that needs a configuration says so in the same way', async () => {
  const cwd = await tempFolder();
  for (const words of [
    ['pull'],
    ['run', 'nightly'],
    ['status'],
    ['sql', 'select 1'],
    ['report'],
    ['findings'],
    ['doctor'],
    ['export', '--out', 'x'],
  ]) {
    const { exit, stderr } = await cli(words, { cwd });
    expect(exit, words.join(' ')).toBe(2);
    expect(stderr, words.join(' ')).toContain('tidemark.yaml does not exist');
  }
});

test('variables and files fill values in, also within a text, and paths start at the file', async () => {
  const cwd = await tempFolder();
  await writeFile(join(cwd, 'secret.txt'), 'from-a-file\r\n');
  await writeFile(
    join(cwd, 'tidemark.yaml'),
    `data: ./\${DIR}/data\ntargets: [{ name: a, kind: mesh, url: "http://\${HOST}:1/v1", token: "\${file:secret.txt}" }]\n`,
  );
  const { exit, stderr } = await cli(['status'], { cwd, env: { DIR: 'deep', HOST: '127.0.0.1' } });
  expect(exit).toBe(3);
  expect(stderr).toContain(`there is no warehouse yet at ${join(cwd, 'deep', 'data', 'warehouse.duckdb')}`);
});
