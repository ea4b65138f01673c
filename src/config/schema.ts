import { z } from 'zod';
import { ADDRESS_ERROR, parseMailAddress } from './mail-address.ts';

/** Shapes and defaults of `tidemark.yaml`, as surface.md lists them; the descriptions are the manual. */

export const TARGET_KINDS = ['platform', 'secrets', 'scheduler', 'autoscaler', 'mesh'] as const;
export type TargetKind = (typeof TARGET_KINDS)[number];

const positive = z.number().positive();
const whole = z.int().positive();
const filled = z.string().min(1, 'must not be empty');

const limits = z.strictObject({
  requestsPerSecond: positive.optional().describe('upper bound; what the service says lowers it'),
  concurrency: whole.default(8).describe('requests under way at once'),
  share: z.number().gt(0).max(1).default(0.9).describe('part of a limit told by the service that Tidemark takes'),
});

const target = z.strictObject({
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, 'must be letters, digits, `.`, `_` or `-`, a letter or digit first'),
  kind: z.enum(TARGET_KINDS, `must be one of ${TARGET_KINDS.join(', ')}`),
  url: filled,
  organization: filled.optional(),
  token: filled.optional(),
  writeToken: filled.optional(),
  tokenHeader: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/u, 'must be a header name')
    .optional(),
  mounts: z.strictObject({ keymgmt: filled.optional(), mesh: filled.optional() }).default({}),
  namespace: filled.optional(),
  services: z.array(filled).default([]),
  flavor: z.enum(['documents', 'hashicorp'], 'must be `documents` or `hashicorp`').default('documents'),
  explorer: z.enum(['csv', 'json'], 'must be `csv` or `json`').default('csv').describe('how explorer views are pulled'),
  limits: limits.default({ concurrency: 8, share: 0.9 }),
  caFile: filled.optional(),
  clientCert: filled.optional(),
  clientKey: filled.optional(),
});

const mailbox = z.string().refine((text) => parseMailAddress(text) !== undefined, ADDRESS_ERROR);

const route = z.strictObject({
  to: z.union([mailbox, z.array(mailbox).min(1)], ADDRESS_ERROR),
  projects: z.array(filled).optional(),
  targets: z.array(filled).optional(),
});

const mail = z.strictObject({
  smtp: filled,
  from: mailbox,
  routes: z.array(route).default([]),
  caFile: filled.optional().describe('authorities of the mail server, beside those of Node'),
});

export const thresholds = z.strictObject({
  agentSilentMinutes: positive.default(10),
  deadAgentHours: positive.default(24),
  deadViewDays: positive.default(30),
  keyRotationDays: positive.default(90),
  keyVersionsKept: whole.default(3),
  snapshotDays: positive.default(7),
  staleSnapshotDays: positive.default(90),
  certificateDays: positive.default(30),
  staleHours: positive.default(36),
});

export const configSchema = z.strictObject({
  data: filled.default('./data'),
  output: filled.default('./out'),
  targets: z.array(target, 'must be a list of targets').min(1, 'must name at least one target'),
  mail: mail.optional(),
  landingDays: positive.default(14),
  reportDays: positive.default(90),
  shrinkPercent: z.number().gt(0).max(100).default(50),
  maxWait: positive.default(120).describe('seconds'),
  memoryLimit: z
    .string()
    .regex(/^\d+(\.\d+)?\s*[KMGT]i?B$/iu, 'must be a size such as 1GB')
    .default('1GB'),
  reportsUrl: z.url({ protocol: /^https?$/u, error: 'must be a URL that begins with https:// or http://' }).optional(),
  thresholds: thresholds.prefault({}),
  schedule: z
    .strictObject({ listen: filled.optional(), catchUpHours: z.number().nonnegative().default(6) })
    .prefault({}),
});

export type RawConfig = z.infer<typeof configSchema>;
export type RawTarget = RawConfig['targets'][number];
export type Thresholds = z.infer<typeof thresholds>;

/** The keys that may stand at a place of the file, for "did you mean". */
export function allowedKeys(path: readonly PropertyKey[]): readonly string[] {
  if (path.length === 0) return Object.keys(configSchema.shape);
  const last = path[path.length - 1];
  const shapes: Record<string, readonly string[]> = {
    mail: Object.keys(mail.shape),
    limits: Object.keys(limits.shape),
    mounts: ['keymgmt', 'mesh'],
    thresholds: Object.keys(thresholds.shape),
    schedule: ['listen', 'catchUpHours'],
  };
  if (path[0] === 'mail' && path.length > 1) return Object.keys(route.shape);
  return shapes[String(last)] ?? Object.keys(target.shape);
}
