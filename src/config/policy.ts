import { basename, join } from 'node:path';
import { z } from 'zod';
import { SEVERITIES, type Severity } from '../core/choices.ts';
import { parseTimestamp } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { REGULAR_FILE } from '../core/fs.ts';
import { isPresent } from '../core/paths.ts';
import { webUrl } from './schema.ts';
import { readYamlFile } from './yaml.ts';

/** `policy/versions.yaml` beside `tidemark.yaml`: which versions may live (docs/policy.md). */
export const POLICY_FILE = join('policy', 'versions.yaml');

/** What `semver_key` reads. */
const VERSION = String.raw`v?\d{1,18}(?:\.\d{1,18}){0,2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?(?:\+[0-9A-Za-z.-]+)?`;
/** `1.5.7`, or `>= 1.5.0, < 1.5.7` */
const RANGE = new RegExp(
  `^(?:${VERSION}|(?:>=?\\s*${VERSION})(?:\\s*,\\s*<=?\\s*${VERSION})?|<=?\\s*${VERSION})$`,
  'u',
);

const text = z.string().trim().min(1, 'must not be empty');
const version = z
  .string('must be a version in quotes, such as "1.10"')
  .regex(new RegExp(`^${VERSION}$`, 'u'), 'must be a version such as 1.14.3');
const severity = z.enum(SEVERITIES, `must be one of ${SEVERITIES.join(', ')}`).optional();
const link = webUrl.optional();

const denied = z.strictObject({
  versions: z
    .string('must be a version, or bounds such as ">= 1.5.0, < 1.5.7", in quotes')
    .regex(RANGE, 'must be a version such as 1.5.7, or bounds such as ">= 1.5.0, < 1.5.7"'),
  reason: text.describe('why; each finding shows it'),
  link: link.describe('where more is said'),
  until: z
    .string('must be a date such as 2027-05-31')
    .refine((date) => parseTimestamp(date) !== undefined, 'must be a date such as 2027-05-31')
    .optional()
    .describe('when the denial ends; a date means 00:00 UTC of that day'),
  severity: severity.describe('of its findings; critical unless set'),
});

const entry = z
  .strictObject({
    minimum: version.optional().describe('lower versions are findings'),
    recommended: version.optional().describe('lower versions are findings of severity info'),
    severity: severity.describe('of findings below the minimum; warning unless set'),
    reason: text.optional().describe('why there is a minimum'),
    link,
    denied: z.array(denied, 'must be a list of ranges').optional().describe('versions that must not be in use'),
  })
  .refine(
    ({ minimum, recommended, denied: ranges = [] }) => Boolean(minimum ?? recommended ?? ranges[0]),
    'needs a minimum, a recommended version or a denied range',
  );

/** Entries by the address of their source. */
const addresses = (pattern: RegExp, example: string) =>
  z
    .record(z.string().regex(pattern), entry, {
      error: ({ code }) => (code === 'invalid_key' ? `must be a full source address, such as ${example}` : undefined),
    })
    .optional();

/** A name of a host, with a dot, and the number of names that follow it; or what else Terraform takes a module from. */
const PROVIDER = /^[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/[\w-]+){2}$/u;
const MODULE =
  /^(?:[\w-]+(?:\.[\w-]+)+(?::\d+)?(?:\/[\w-]+){2,3}(?:\/\/.+)?|(?:[\w-]+::|[\w-]+@|[a-z][\w+.-]*:\/\/).+)$/u;

export const policySchema = z.strictObject({
  tools: z.strictObject({ terraform: entry, opentofu: entry }).partial().optional(),
  providers: addresses(PROVIDER, 'registry.terraform.io/hashicorp/aws').refine(
    (providers = {}) =>
      new Set(Object.keys(providers).map((name) => name.toLowerCase())).size === Object.keys(providers).length,
    'has an address twice: those of providers are the same in any case',
  ),
  modules: addresses(MODULE, 'registry.terraform.io/terraform-aws-modules/vpc/aws'),
  products: z
    .strictObject({ vault: entry, nomad: entry, consul: entry, autoscaler: entry, platform: entry })
    .partial()
    .optional(),
});

type Bound = 'at_least' | 'above' | 'at_most' | 'below';

/** A row of the view `version_policy`, which says what the columns are: an interval of versions, and what is said of them. */
export type PolicyRow = Readonly<
  Record<'kind' | 'name' | 'says' | 'versions' | 'severity', string> &
    Partial<Record<Bound | 'reason' | 'link' | 'ends_at', string | undefined>>
>;

/** The policy of a folder; no rows where it has none. @throws TidemarkError CONFIG naming file, line and field. */
export function loadPolicy(directory: string): readonly PolicyRow[] {
  const file = join(directory, POLICY_FILE);
  return isPresent(file) ? readPolicy(file, REGULAR_FILE) : [];
}

/** @throws TidemarkError CONFIG naming file, line and field. */
export function readPolicy(file: string, options: Partial<typeof REGULAR_FILE> = {}): readonly PolicyRow[] {
  const said = readYamlFile(file, policySchema, options);
  const { tools: tool, providers: provider, modules: module, products: product } = said;
  const rows = Object.entries({ tool, provider, module, product }).flatMap(([kind, entries = {}]) =>
    Object.entries(entries).flatMap(([name, each]) => toRows(kind, name, each ?? {})),
  );
  if (rows.length > 0) return rows;
  // Such as one that a full disk or a failed template has emptied: its findings would all be resolved.
  throw new TidemarkError('CONFIG', `${basename(file)} says nothing of any version`, {
    hint: 'put it back; without a policy, remove the file',
  });
}

function toRows(kind: string, name: string, said: z.infer<typeof entry>): readonly PolicyRow[] {
  const { minimum, recommended, severity: level = 'warning', reason, link: url, denied: ranges = [] } = said;
  const lower = (says: string, versions: string | undefined, worst: Severity) =>
    versions === undefined ? [] : [{ kind, name, says, versions, below: versions, reason, link: url, severity: worst }];
  return [
    ...lower('minimum', minimum, level),
    ...lower('recommended', recommended, 'info'),
    ...ranges.map(({ versions, severity: worst = 'critical', until, ...why }) => ({
      ...{ kind, name, says: 'denied', versions, ...toBounds(versions), severity: worst, ...why },
      ends_at: until && parseTimestamp(until)?.toISOString(),
    })),
  ];
}

const BOUNDS: Readonly<Record<string, Bound>> = { '>=': 'at_least', '>': 'above', '<=': 'at_most', '<': 'below' };

function toBounds(range: string): Partial<PolicyRow> {
  const bounds = [...range.matchAll(/([<>]=?)\s*([^\s,]+)/gu)];
  if (bounds.length === 0) return { at_least: range, at_most: range };
  return Object.fromEntries(bounds.map(([, operator = '', bound]) => [BOUNDS[operator], bound]));
}
