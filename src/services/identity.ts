import type { TargetKind } from '../config/config.ts';
import { ServiceError } from '../http/errors.ts';
import type { ServiceClient } from './client.ts';
import { mesh } from './mesh.ts';
import type { Operation } from './operation.ts';
import { takeRefusal } from './server-version.ts';
import { textField, toFields } from './token/describe-token.ts';
import { identityOperations } from './token/operations.ts';

/** What a service says it is: names and IDs of the installation, which another one at the same address does not have. */
export type ServiceIdentity = Readonly<Record<string, string>>;

interface Question {
  readonly operation: Operation;
  /** Only the real products have the endpoint. */
  readonly isHashicorp: boolean;
  readonly read: (body: unknown) => Readonly<Record<string, string | null>>;
}

const QUESTIONS: Readonly<Record<TargetKind, Question | undefined>> = {
  platform: {
    operation: identityOperations.organization,
    isHashicorp: true,
    read: (body) => ({
      organization_id: textField(toFields(toFields(toFields(body).data).attributes), 'external-id'),
    }),
  },
  secrets: {
    operation: identityOperations.cluster,
    isHashicorp: true,
    read: (body) => ({
      cluster_id: textField(toFields(body), 'cluster_id'),
      cluster_name: textField(toFields(body), 'cluster_name'),
    }),
  },
  scheduler: {
    operation: identityOperations.agent,
    isHashicorp: true,
    read: (body) => ({ region: textField(toFields(toFields(body).config), 'Region') }),
  },
  autoscaler: undefined,
  registry: undefined,
  mesh: {
    operation: mesh['ca-roots'].read,
    isHashicorp: false,
    read: (body) => ({ trust_domain: textField(toFields(body), 'TrustDomain') }),
  },
};

/**
 * Asks a service what it is; null where it does not say: it has no such endpoint, or the token may not read it.
 * @throws ServiceError where the service cannot answer.
 */
export async function identifyService(client: ServiceClient): Promise<ServiceIdentity | null> {
  const { kind, flavor } = client.target;
  const question = QUESTIONS[kind];
  if (!question || (question.isHashicorp && flavor !== 'hashicorp')) return null;
  const answer = await client.call(question.operation).catch(takeRefusal);
  const body = answer instanceof ServiceError ? undefined : answer.json();
  const said = Object.entries(question.read(body)).flatMap(([field, value]) =>
    value === null ? [] : [[field, value.slice(0, MAX_LENGTH)]],
  );
  return said.length === 0 ? null : Object.fromEntries(said);
}

/** More than any name or ID has. */
const MAX_LENGTH = 200;
