import { urlError } from '../config/schema.ts';
import type { Context } from '../core/context.ts';
import { TidemarkError } from '../core/errors.ts';
import { stripControls } from '../core/log.ts';
import type { InitTarget } from '../run/init-config.ts';

/** What is asked for one kind of service; the platform is asked for its organization as well. */
interface Question {
  readonly kind: InitTarget['kind'];
  readonly label: string;
  /** Variable of the vendor's client with the answer that Enter accepts. */
  readonly variable: string | null;
}

const PLATFORM: Question = { kind: 'platform', label: '  its URL', variable: 'TFE_ADDRESS' };
const PLATFORM_URL = 'https://app.terraform.io';
const OTHERS: readonly Question[] = [
  { kind: 'secrets', label: 'Vault: URL', variable: 'VAULT_ADDR' },
  { kind: 'scheduler', label: 'Nomad: URL', variable: 'NOMAD_ADDR' },
  { kind: 'autoscaler', label: 'Nomad Autoscaler: URL', variable: null },
  { kind: 'mesh', label: 'Consul agent: URL', variable: 'CONSUL_HTTP_ADDR' },
  { kind: 'registry', label: 'Terraform registry, such as https://registry.terraform.io: URL', variable: null },
];

/** How often an answer that is not valid is asked for again. */
const MAX_TRIES = 3;

/**
 * Asks on the terminal which services there are.
 * @throws TidemarkError INTERRUPTED after Ctrl-C; USAGE after three answers that are not valid
 */
export async function askTargets(context: Context): Promise<readonly InitTarget[]> {
  context.stderr('Which services do you have? Enter accepts the answer in brackets, and - means none.\n');
  const organization = await ask(context, 'HCP Terraform: organization', context.env.TF_CLOUD_ORGANIZATION ?? '');
  const targets: InitTarget[] = [];
  if (organization !== '') {
    const url = await askUrl(context, PLATFORM, PLATFORM_URL);
    if (url !== '') targets.push({ kind: 'platform', url, organization });
  }
  for (const question of OTHERS) {
    const url = await askUrl(context, question, '');
    if (url !== '') targets.push({ kind: question.kind, url });
  }
  return targets;
}

/** A valid URL, or an empty text for no such service. */
async function askUrl(context: Context, { label, variable }: Question, fallback: string): Promise<string> {
  const known = variable === null ? '' : withScheme(context.env[variable] ?? '');
  for (let tries = 1; ; tries++) {
    const url = await ask(context, label, known || fallback);
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
    throw interrupted();
  }
  if (answer === '-') return '';
  return answer === '' ? initial : answer;
}

export function interrupted(): TidemarkError {
  return new TidemarkError('INTERRUPTED', 'interrupted: nothing was written');
}

/** The clients of Consul take an address without a scheme as well. */
function withScheme(address: string): string {
  return address === '' || /^[a-z]+:\/\//u.test(address) ? address : `http://${address}`;
}
