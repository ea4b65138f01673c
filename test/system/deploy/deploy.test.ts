import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { copyFile, cp, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { loadConfig } from '../../../src/config/config.ts';
import { jobSchema, readJobs } from '../../../src/config/job.ts';
import { PACKAGE_ROOT } from '../../../src/core/paths.ts';
import { Redactor } from '../../../src/core/redact/redactor.ts';
import { tempFolder } from '../../helpers/temp.ts';

const deploy = (...path: readonly string[]) => join(PACKAGE_ROOT, 'deploy', ...path);
const read = (...path: readonly string[]) => readFileSync(deploy(...path), 'utf8');

/** Whether a tool is there; where it is not, its test is skipped, and says so. */
function has(tool: string, ...words: readonly string[]): boolean {
  const there = spawnSync(tool, words).status === 0;
  if (!there) console.warn(`skipped: ${tool} is not on this machine, so what only it can check is not checked`);
  return there;
}

const ENV = { TFE_TOKEN: 'tok-en', SMTP_PASSWORD: 'pass-word' };

/** The configuration inside a file must be one that Tidemark takes. */
async function configOf(text: string) {
  const file = join(await tempFolder(), 'tidemark.yaml');
  await writeFile(file, text);
  return loadConfig(file, ENV, new Redactor());
}

/** A command line must name a command and a job that there are. */
function expectRunsNightly(words: readonly string[]): void {
  expect(words.slice(-2)).toEqual(['run', 'nightly']);
  expect(existsSync(join(PACKAGE_ROOT, 'jobs', 'nightly.yaml'))).toBe(true);
}

describe('systemd', () => {
  test.skipIf(!has('systemd-analyze', '--version'))('verifies both units', async () => {
    const folder = await tempFolder();
    const service = read('systemd', 'tidemark.service').replace('/usr/local/bin/tidemark', process.execPath);
    await writeFile(join(folder, 'tidemark.service'), service);
    await copyFile(deploy('systemd', 'tidemark.timer'), join(folder, 'tidemark.timer'));
    const files = ['tidemark.service', 'tidemark.timer'].map((name) => join(folder, name));
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
    const [, calendar = ''] = /^OnCalendar=(.+)$/mu.exec(read('systemd', 'tidemark.timer')) ?? [];
    expect(spawnSync('systemd-analyze', ['calendar', calendar]).status).toBe(0);
  });

  test('runs the nightly job as an unprivileged user, and makes up for missed starts', () => {
    const service = read('systemd', 'tidemark.service');
    expectRunsNightly(/^ExecStart=(.+)$/mu.exec(service)?.[1]?.split(' ') ?? []);
    expect(service).toMatch(/^DynamicUser=yes$/mu);
    expect(read('systemd', 'tidemark.timer')).toMatch(/^Persistent=true$/mu);
  });
});

interface CronJob {
  readonly kind: string;
  readonly data: Readonly<Record<string, string>>;
  readonly spec: {
    readonly schedule: string;
    readonly timeZone: string;
    readonly concurrencyPolicy: string;
    readonly startingDeadlineSeconds: number;
    readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
  };
}

interface PodSpec {
  readonly restartPolicy: string;
  readonly securityContext: { readonly runAsNonRoot: boolean };
  readonly containers: readonly {
    readonly args: readonly string[];
    readonly volumeMounts: readonly { readonly name: string }[];
  }[];
  readonly volumes: readonly { readonly name: string }[];
}

describe('Kubernetes', () => {
  const documents = parseAllDocuments(read('kubernetes', 'tidemark.yaml'));
  const [configMap, , cronJob] = documents.map((document) => document.toJS() as CronJob);

  test.skipIf(!has('kubectl', 'version', '--client'))(
    'loses no field on the way through the types of kubectl',
    async () => {
      // kubectl needs a server for its own validation; but what it decodes and encodes again has lost every field it does not know.
      const file = join(await tempFolder(), 'cronjob.yaml');
      await writeFile(file, String(documents[2]));
      const words = ['set', 'image', '--local', '--dry-run=client', '-f', file, 'tidemark=other:1', '-o', 'yaml'];
      const { status, stdout, stderr } = spawnSync('kubectl', words, { encoding: 'utf8' });
      expect([status, stderr]).toEqual([0, '']);
      const typed = JSON.parse(JSON.stringify(parse(stdout)).replaceAll('other:1', 'tidemark:0.1.0'));
      expect(typed).toMatchObject(cronJob as unknown as Record<string, unknown>);
    },
  );

  test('is a ConfigMap, a claim and a CronJob that fit together', async () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    expect(documents.map((document) => (document.toJS() as CronJob).kind)).toEqual([
      'ConfigMap',
      'PersistentVolumeClaim',
      'CronJob',
    ]);
    const { spec } = cronJob!;
    expect(jobSchema.safeParse({ schedule: spec.schedule, timezone: spec.timeZone }).error).toBeUndefined();
    expect(spec).toMatchObject({ concurrencyPolicy: 'Forbid', startingDeadlineSeconds: 6 * 3600 });
    const pod = spec.jobTemplate.spec.template.spec;
    expect(pod).toMatchObject({ restartPolicy: 'Never', securityContext: { runAsNonRoot: true } });
    expectRunsNightly(pod.containers[0]?.args ?? []);
    expect(pod.containers[0]?.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
    const config = await configOf(configMap?.data['tidemark.yaml'] ?? '');
    expect([config.data, config.output]).toEqual(['/var/lib/tidemark/data', '/var/lib/tidemark/out']);
  });
});

describe('Nomad', () => {
  const hcl = read('nomad', 'tidemark.nomad.hcl');

  test.skipIf(!has('nomad', 'version'))('validates the job', () => {
    const { status, stdout } = spawnSync('nomad', ['job', 'validate', deploy('nomad', 'tidemark.nomad.hcl')], {
      encoding: 'utf8',
    });
    expect([status, stdout]).toEqual([0, expect.stringContaining('successful')]);
  });

  test('has blocks that open and close, and the ones that matter', () => {
    const blocks = blocksOf(hcl);
    expect(blocks).toContain('job "tidemark"/periodic');
    expect(blocks).toContain('job "tidemark"/group "tidemark"/task "run"/config');
    expect(hcl).toMatch(/prohibit_overlap\s*= true/u);
    expect(hcl).toMatch(/user\s*= "1000:1000"/u);
    const [, cron = '', zone = ''] = /crons\s*= \["([^"]+)"\]\s*time_zone\s*= "([^"]+)"/u.exec(hcl) ?? [];
    expect(jobSchema.safeParse({ schedule: cron, timezone: zone }).error).toBeUndefined();
    expectRunsNightly(JSON.parse(/args\s*= (\[.+\])/u.exec(hcl)?.[1] ?? '[]'));
  });

  test('writes a configuration that Tidemark takes', async () => {
    const [, heredoc = ''] = /destination = "local\/tidemark\.yaml"\s*data\s*= <<-EOF\n(.+?)\n\s*EOF/su.exec(hcl) ?? [];
    const indent = /^ */u.exec(heredoc)?.[0].length ?? 0;
    const text = heredoc
      .split('\n')
      .map((line) => line.slice(indent))
      .join('\n');
    const config = await configOf(text.replaceAll('$${', '${'));
    expect(config.targets[0]?.token).toBe('tok-en');
  });
});

describe('shards', () => {
  const text = read('kubernetes', 'tidemark-shards.yaml');
  const documents = parseAllDocuments(text);
  const [configMap, , shards, closer] = documents.map((document) => document.toJS() as CronJob);
  const hcl = read('nomad', 'tidemark-shards.nomad.hcl');

  test('in Kubernetes are an Indexed Job and a closer, which count the same shards', async () => {
    expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
    const { completions, parallelism, completionMode, template } = shards!.spec.jobTemplate.spec as unknown as {
      completions: number;
      parallelism: number;
      completionMode: string;
      template: { spec: PodSpec };
    };
    expect([completionMode, parallelism]).toEqual(['Indexed', completions]);
    const [command = ''] = template.spec.containers[0]?.args ?? [];
    const [, count] = /--shard "\$\(\(JOB_COMPLETION_INDEX \+ 1\)\)\/(\d+)" run nightly$/u.exec(command) ?? [];
    expect(Number(count)).toBe(completions);
    const closing = closer!.spec.jobTemplate.spec.template.spec.containers[0]?.args ?? [];
    expect(closing.slice(2, 6)).toEqual(['lake', 'close', '--shards', String(completions)]);
    expect(closer!.spec.schedule).toBe(shards!.spec.schedule);
    const config = await configOf(configMap?.data['tidemark.yaml'] ?? '');
    expect(config.lake).toBe('/var/lib/tidemark/lake');
  });

  test('in Nomad are a group and a closer, which count the same shards', async () => {
    const blocks = blocksOf(hcl);
    expect(blocks).toContain('job "tidemark-shards"/group "shard"/task "run"/config');
    expect(blocks).toContain('job "tidemark-shards"/group "close"/task "close"/config');
    const [, count = ''] = /count = (\d+)/u.exec(hcl) ?? [];
    expect(hcl).toContain(`--shard $((NOMAD_ALLOC_INDEX + 1))/${count} run nightly"]`);
    expect(hcl).toContain(`"lake", "close", "--shards", "${count}"`);
  });

  test.skipIf(!has('nomad', 'version'))('in Nomad are a valid job', () => {
    const { status } = spawnSync('nomad', ['job', 'validate', deploy('nomad', 'tidemark-shards.nomad.hcl')]);
    expect(status).toBe(0);
  });
});

/** The path of every block; throws where braces do not match. Comments, texts and heredocs are left out first. */
function blocksOf(hcl: string): readonly string[] {
  const code = hcl
    .replaceAll(/<<-EOF\n.+?\n\s*EOF$/gmsu, '""')
    .replaceAll(/"(?:[^"\\\n]|\\.)*"|#.*$/gmu, (part) => (part.startsWith('#') ? '' : part.replaceAll(/[{}#]/gu, '')));
  const open: string[] = [];
  const found: string[] = [];
  for (const line of code.split('\n').map((text) => text.trim())) {
    if (line.endsWith('{')) {
      open.push(line.slice(0, -1).trim());
      found.push(open.join('/'));
    } else if (line === '}') {
      if (open.pop() === undefined) throw new Error('a block ends that never began');
    } else if (line !== '' && !/^\w+\s*=\s*.+$/u.test(line)) {
      throw new Error(`neither a block nor an attribute: ${line}`);
    }
  }
  if (open.length > 0) throw new Error(`blocks that never end: ${open.join(', ')}`);
  return found;
}

describe('the container', () => {
  const lines = read('container', 'Containerfile')
    .replaceAll(/\\\n/gu, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const last = (word: string) =>
    lines
      .filter((line) => line.startsWith(`${word} `))
      .at(-1)
      ?.slice(word.length + 1) ?? '';

  test('ends as a user who is not root, with the nightly run as its command', () => {
    expect(
      lines.every((line) => /^(?:FROM|RUN|COPY|ENV|WORKDIR|USER|VOLUME|STOPSIGNAL|ENTRYPOINT|CMD) /u.test(line)),
    ).toBe(true);
    expect(last('USER')).toBe('1000:1000');
    expect(JSON.parse(last('ENTRYPOINT'))).toEqual(['node', '/app/bin/tidemark.js']);
    expectRunsNightly(JSON.parse(last('CMD')));
  });

  /** What a stage copies of the checkout: its paths there and their place in the image. */
  const copiesOf = (stage: 'build' | 'image') => {
    const second = lines.findLastIndex((line) => line.startsWith('FROM '));
    const own = stage === 'build' ? lines.slice(0, second) : lines.slice(second);
    const copies = own.filter((line) => line.startsWith('COPY ')).map((line) => line.split(' ').slice(1));
    return copies.map((words) => ({ paths: words.slice(0, -1), place: words.at(-1)!.replace('./', '') }));
  };

  test('copies what there is, and all that the package consists of', () => {
    const outside = [...copiesOf('build'), ...copiesOf('image')].flatMap(({ paths }) =>
      paths[0]?.startsWith('--from') ? [] : paths,
    );
    expect(outside.filter((path) => !existsSync(join(PACKAGE_ROOT, path)))).toEqual([]);
    const inImage = copiesOf('image').map(({ place }) => place);
    const { files } = JSON.parse(readFileSync(join(PACKAGE_ROOT, 'package.json'), 'utf8')) as { files: string[] };
    const packed = files.filter((path) => !path.startsWith('!') && !path.endsWith('.md'));
    const folders = packed.map((path) => path.replace('bin/tidemark.js', 'bin'));
    expect(folders.filter((folder) => folder !== 'deploy' && !inImage.includes(folder))).toEqual([]);
  });

  test('builds from what its first stage copies', async () => {
    const folder = await tempFolder();
    for (const { paths, place } of copiesOf('build')) {
      for (const path of paths) await cp(join(PACKAGE_ROOT, path), join(folder, place || path), { recursive: true });
    }
    await symlink(join(PACKAGE_ROOT, 'node_modules'), join(folder, 'node_modules'));
    const { status, stderr } = spawnSync('npm', ['run', 'build'], { cwd: folder, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
  });
});

test('every way of starting it is described in the README', () => {
  const readme = read('README.md');
  for (const folder of readdirSync(deploy()).filter((name) => name !== 'README.md')) {
    for (const file of readdirSync(deploy(folder))) {
      const named = readme.includes(file) || readme.includes(`${folder}/${file.split('.')[0]}.*`);
      expect(named, `${folder}/${file}`).toBe(true);
    }
  }
});

test('the line for cron gives the command what the file `env` has, with the PATH of its table, and mails no summary', async () => {
  const [, path = '', line = ''] = /^ {4}PATH=(\S+)\n {4}15 2 \* \* \* +(.+)$/mu.exec(read('README.md')) ?? [];
  const folder = await tempFolder();
  await writeFile(join(folder, 'env'), 'TFE_TOKEN=tok-en\n');
  await writeFile(join(folder, 'tidemark'), '#!/bin/sh\necho "$TFE_TOKEN $*" >&2\necho summary\n', { mode: 0o755 });
  const env = { PATH: `${folder}:${path}` };
  const { output } = spawnSync('sh', ['-c', line.replace('/etc/tidemark', folder)], { env, encoding: 'utf8' });
  expect(output.slice(1)).toEqual(['', 'tok-en run nightly --quiet\n']);
});

test('the jobs of the package are valid, and each has a schedule', async () => {
  const config = await configOf(
    'targets: [{ name: acme, kind: platform, url: "https://x.example", organization: acme, token: tok-en }]',
  );
  const { jobs, problems } = readJobs(config, {});
  expect(problems).toEqual([]);
  expect(jobs.map(({ name }) => name)).toEqual(['nightly', 'weekly']);
  for (const { schedule, reports } of jobs) {
    expect(schedule).toBeDefined();
    for (const report of reports) expect(existsSync(join(PACKAGE_ROOT, 'reports', `${report}.hbs`)), report).toBe(true);
  }
});
