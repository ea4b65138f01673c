import type { TargetKind } from '../config/config.ts';
import { ServiceError } from '../http/errors.ts';
import { autoscaler } from './autoscaler.ts';
import type { ServiceClient } from './client.ts';
import type { Operation } from './operation.ts';
import type { ServiceResponse } from './response.ts';
import { textField, toFields } from './token/describe-token.ts';
import { versionOperations } from './token/operations.ts';

/** What a server is. */
export interface ServerVersion {
  /** `vault`, `openbao`, `consul`, `nomad`, `hcp-terraform` …; null where the server does not tell. */
  readonly product: string | null;
  readonly version: string | null;
  /** Why the server was not heard; null where it answered, with or without a version. */
  readonly note: string | null;
}

type Answer = Pick<ServerVersion, 'product' | 'version'>;

interface Question {
  readonly operation: Operation;
  readonly read: (response: ServiceResponse) => Answer;
  /** The product of a server that refuses the question. */
  readonly refused: string | null;
}

/** Asked of the real products; the documented services tell no version. */
export const VERSION_QUESTIONS: Readonly<Record<Exclude<TargetKind, 'registry'>, Question>> = {
  platform: { operation: versionOperations.platform, read: readPing, refused: null },
  secrets: { operation: versionOperations.secrets, read: readVaultHealth, refused: null },
  scheduler: { operation: versionOperations.scheduler, read: readNomadAgent, refused: 'nomad' },
  mesh: { operation: versionOperations.mesh, read: readConsulAgent, refused: 'consul' },
  autoscaler: {
    operation: autoscaler.health.read,
    read: () => ({ product: 'nomad-autoscaler', version: null }),
    refused: 'nomad-autoscaler',
  },
};

/**
 * Asks a server for its product and version. A token that may not ask, and a server without the endpoint, leave the version unknown.
 * @throws ServiceError where the server cannot answer.
 */
export async function askVersion(client: ServiceClient): Promise<ServerVersion> {
  const { operation, read, refused } = VERSION_QUESTIONS[client.target.kind as keyof typeof VERSION_QUESTIONS];
  const answer = await client.call(operation).catch(takeRefusal);
  if (answer instanceof ServiceError) {
    const note = `its version is not known: ${operation.path.split('?', 1)[0]} answered ${answer.status}`;
    return { product: refused, version: null, note };
  }
  const { product, version } = read(answer);
  return { product, version: version?.slice(0, MAX_LENGTH) ?? null, note: null };
}

/** For `catch`: a service that has no such endpoint, or whose token may not ask. @throws every other error, where the service is at fault */
export function takeRefusal(error: unknown): ServiceError {
  if (error instanceof ServiceError && REFUSED.includes(error.status ?? 0)) return error;
  throw error;
}

const REFUSED = [400, 401, 403, 404, 405];

/** More than any version has. */
const MAX_LENGTH = 100;

/** `HCP Terraform`, which has no version, and `Terraform Enterprise`. */
function readPing({ headers }: ServiceResponse): Answer {
  const name = headers
    .get('tfp-appname')
    ?.toLowerCase()
    .replaceAll(/[^a-z0-9]+/gu, '-')
    .slice(0, MAX_LENGTH);
  const version = headers.get('x-tfe-version') || null;
  return { product: name || (version === null ? null : 'terraform-enterprise'), version };
}

/**
 * OpenBao answers as the Vault that it began as, with versions from 2.0 on; a Vault of such a version says whether it is of the enterprise
 * edition.
 */
function readVaultHealth(response: ServiceResponse): Answer {
  const fields = toFields(response.json());
  const version = textField(fields, 'version');
  if (version === null) return { product: null, version };
  const isVault = 'enterprise' in fields || /^v?[01]\./u.test(version);
  return { product: isVault ? 'vault' : 'openbao', version: withEdition(version, fields.enterprise === true) };
}

function readNomadAgent(response: ServiceResponse): Answer {
  const { config, member } = toFields(response.json());
  const { Version: built } = toFields(config);
  const { Tags: tags } = toFields(member);
  const version = textField(toFields(built), 'Version');
  const prerelease = textField(toFields(built), 'VersionPrerelease');
  const metadata = textField(toFields(built), 'VersionMetadata');
  const full = version && `${version}${prerelease ? `-${prerelease}` : ''}${metadata ? `+${metadata}` : ''}`;
  return { product: 'nomad', version: full ?? textField(toFields(tags), 'build') };
}

function readConsulAgent(response: ServiceResponse): Answer {
  const { Config: config, DebugConfig: debug } = toFields(response.json());
  const version = textField(toFields(config), 'Version');
  return {
    product: 'consul',
    version: version && withEdition(version, textField(toFields(debug), 'VersionMetadata') === 'ent'),
  };
}

/** The editions have different lifetimes. */
function withEdition(version: string, isEnterprise: boolean): string {
  return isEnterprise && !version.includes('+') ? `${version}+ent` : version;
}
