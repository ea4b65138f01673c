import { parseSmtpUrl, SMTP_ERROR } from './smtp-url.ts';
import type { ValidationIssue } from './yaml.ts';

type Loose = Readonly<Record<string, unknown>>;

/**
 * What is wrong with the meaning of a configuration. Its shape may be wrong too: everything is told at once, so nothing here
 * relies on it.
 */
export function validateConfig(document: unknown): readonly ValidationIssue[] {
  if (!isObject(document)) return [];
  const targets = Array.isArray(document.targets)
    ? document.targets.map((target) => (isObject(target) ? target : {}))
    : [];
  return [...targets.flatMap(targetProblems), ...duplicateNames(targets), ...mailProblems(document.mail)];
}

function isObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function targetProblems(
  { kind, url, organization, token, clientCert, clientKey }: Loose,
  index: number,
): ValidationIssue[] {
  const problems: ValidationIssue[] = [];
  const say = (field: string, message: string) => problems.push({ path: ['targets', index, field], message });
  const wrong = typeof url === 'string' ? urlProblem(url) : undefined;
  if (wrong) say('url', wrong);
  if (kind === 'platform' && !organization) say('organization', 'is required for kind platform');
  if ((kind === 'platform' || kind === 'secrets') && !token) say('token', `is required for kind ${kind}`);
  if (Boolean(clientCert) !== Boolean(clientKey)) say('clientCert', 'goes with clientKey: give both');
  return problems;
}

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'is not a URL such as https://host:port';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://';
  if (url.username || url.password) return 'must not hold a user or password; use token';
  if (url.search || url.hash) return 'must not hold a query or fragment';
  return undefined;
}

function duplicateNames(targets: readonly Loose[]): ValidationIssue[] {
  const first = new Map<unknown, number>();
  return targets.flatMap(({ name }, index) => {
    const earlier = first.get(name);
    if (earlier === undefined) first.set(name, index);
    return earlier === undefined || typeof name !== 'string'
      ? []
      : [{ path: ['targets', index, 'name'], message: `\`${name}\` is already the name of targets[${earlier}]` }];
  });
}

function mailProblems(mail: unknown): ValidationIssue[] {
  if (!isObject(mail) || typeof mail.smtp !== 'string' || parseSmtpUrl(mail.smtp)) return [];
  return [{ path: ['mail', 'smtp'], message: SMTP_ERROR }];
}
