import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { TARGET_KINDS, type TargetKind, urlError } from '../config/schema.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { writeFileAtomic } from '../core/fs.ts';
import { stripControls } from '../core/log.ts';
import { PACKAGE_ROOT } from '../core/paths.ts';
import type { InitTarget, ProbedTarget } from '../run/init-config.ts';
import { DEFAULTS, probeTargets, renderConfigFile, renderEnvExample } from '../run/init-config.ts';
import type { DefineCommand, Lists, Switches, Texts } from './define.ts';
import { formatNextSteps, writeResult } from './output.ts';

export const define: DefineCommand = (command) =>
  command
    .option('--platform <url>', 'HCP Terraform or Terraform Enterprise; the token is in TFE_TOKEN')
    .option('--organization <name>', 'organization of the platform')
    .option('--secrets <url>', 'Vault; the token is in VAULT_TOKEN')
    .option('--scheduler <url>', 'Nomad; the token is in NOMAD_TOKEN')
    .option('--autoscaler <url>', 'the Nomad Autoscaler')
    .option('--mesh <url>', 'a Consul agent; the token is in CONSUL_HTTP_TOKEN')
    .option('--registry <url>', 'a registry of providers and modules, such as https://registry.terraform.io')
    .repeatable('--service <name>', 'service of the mesh whose leaf certificate is recorded')
    .option('--force', 'replace existing files')
    .runs(() => import('./init.ts'), 'init');

/** The commented examples that `init` copies. */
const TEMPLATES = join(PACKAGE_ROOT, 'templates');

const INTERRUPTED = 'interrupted: nothing was written';

/** Services by their URLs. */
type InitFlags = Lists<'service'> & Texts<TargetKind | 'organization'> & Switches<'force'>;

export async function init(context: Context, flags: InitFlags): Promise<void> {
  const config = resolve(context.cwd, context.configFile);
  const env = join(dirname(config), '.env.example');
  const existing = [config, env].find((file) => existsSync(file));
  if (existing && !flags.force) {
    throw new TidemarkError('UNSAFE', `${basename(existing)} already exists`, {
      hint: 'replace it with `tidemark init --force`',
    });
  }
  const given = listTargets(flags);
  const isConversation = context.stdinIsTerminal && !context.json && !context.quiet;
  const chosen = given.length === 0 && isConversation ? await askTargets(context) : given;
  const probed = await probeTargets(context, chosen);
  if (context.signal.aborted) throw new TidemarkError('INTERRUPTED', INTERRUPTED);
  const [template, example] = await Promise.all(
    ['tidemark.yaml', 'env.example'].map((name) => readFile(join(TEMPLATES, name), 'utf8')),
  );
  const schema = pathToFileURL(join(TEMPLATES, 'tidemark.schema.json')).href; // editors complete the file by it
  const text = renderConfigFile(template ?? '', probed);
  await writeFileAtomic(config, `# yaml-language-server: $schema=${schema}\n${text}`);
  await writeFileAtomic(env, renderEnvExample(example ?? '', probed));
  const written = [config, env];
  const targets = probed.map(({ name, problem, without, unread }) => ({ name, problem, without, unread }));
  writeResult(context, probed.length === 0 ? { written } : { written, targets }, () =>
    formatResult(context, written, probed),
  );
}

/** @throws TidemarkError USAGE for a platform without its organization, and for what is no URL of a service */
function listTargets(flags: InitFlags): readonly InitTarget[] {
  const { platform, organization = '', mesh, service: services } = flags;
  if (Boolean(platform) !== Boolean(organization)) {
    throw new TidemarkError('USAGE', '--platform requires --organization, and --organization requires it');
  }
  if (services.length > 0 && mesh === undefined) throw new TidemarkError('USAGE', '--service requires --mesh');
  const more: Readonly<Partial<Record<TargetKind, object>>> = { platform: { organization }, mesh: { services } };
  return TARGET_KINDS.flatMap((kind) => {
    const url = flags[kind];
    if (url === undefined) return [];
    const problem = urlError(url);
    if (problem !== undefined) throw new TidemarkError('USAGE', `--${kind}: ${problem}`);
    return [{ kind, url, ...more[kind] }];
  });
}

function formatResult(context: Context, written: readonly string[], probed: readonly ProbedTarget[]): string {
  const files = written.map((file) => `wrote ${basename(file)}\n`);
  const targets = probed.map((target) => `${target.name}: ${describeSources(target)}\n`);
  const missing = probed.flatMap(({ missingVariable }) => missingVariable ?? []);
  const tokens =
    missing.length === 0 ? [] : [`set ${missing.join(', ')} in .env, a copy of .env.example, or in the environment`];
  const steps = [
    ...(probed.length === 0 ? [`fill in your targets in ${basename(context.configFile)}`] : tokens),
    'run `tidemark doctor`, which checks every target',
    'run `tidemark run nightly`, the first pull with reports',
  ];
  return [...files, ...targets, '\n', formatNextSteps(steps, context)].join('');
}

function describeSources({ problem, without, unread, document }: ProbedTarget): string {
  if (problem !== null) return `not asked: ${problem}`;
  const limits = [
    ...('explorer' in document ? ['its explorer answers 404, so that its list of workspaces is read'] : []),
    ...(without.length > 0 ? [`does not have ${without.join(', ')}`] : []),
    ...(unread.length > 0 ? [`could not be asked for ${unread.join(', ')}`] : []),
  ];
  return limits.join('; ') || 'has all sources';
}

/** How often an answer that is not valid is asked for again. */
const MAX_TRIES = 3;

/**
 * Asks on the terminal which services there are.
 * @throws TidemarkError INTERRUPTED after Ctrl-C; USAGE after three answers that are not valid
 */
async function askTargets(context: Context): Promise<readonly InitTarget[]> {
  context.stderr('Which services do you have? Enter accepts the answer in brackets, and - means none.\n');
  const organization = await ask(context, 'HCP Terraform: organization', context.env.TF_CLOUD_ORGANIZATION ?? '');
  const targets: InitTarget[] = [];
  for (const kind of TARGET_KINDS) {
    const isPlatform = kind === 'platform';
    if (isPlatform && organization === '') continue;
    const url = await askUrl(context, kind, isPlatform ? 'https://app.terraform.io' : '');
    if (url !== '') targets.push({ kind, url, ...(isPlatform && { organization }) });
  }
  return targets;
}

/** A valid URL, or an empty text for no such service. */
async function askUrl(context: Context, kind: TargetKind, fallback: string): Promise<string> {
  const { question, address } = DEFAULTS[kind];
  const named = address === null ? '' : withScheme(context.env[address] ?? '');
  const known = urlError(named) === undefined ? named : ''; // one with a password is not shown either
  for (let tries = 1; ; tries++) {
    const url = await ask(context, question, known || fallback);
    const problem = url === '' ? undefined : urlError(url);
    if (problem === undefined) return url;
    if (tries === MAX_TRIES) throw new TidemarkError('USAGE', `${url}: ${problem}`);
    context.stderr(`  ${stripControls(url)}: ${problem}\n`);
  }
}

async function ask(context: Context, label: string, initial: string): Promise<string> {
  context.stderr(`${label} [${stripControls(initial) || 'none'}]: `);
  const answer = (await context.readLine()).trim();
  if (context.signal.aborted) {
    context.stderr('\n');
    throw new TidemarkError('INTERRUPTED', INTERRUPTED);
  }
  if (answer === '-') return '';
  return answer === '' ? initial : answer;
}

/** The clients of Consul take an address without a scheme as well. */
function withScheme(address: string): string {
  return address === '' || /^[a-z]+:\/\//u.test(address) ? address : `http://${address}`;
}
