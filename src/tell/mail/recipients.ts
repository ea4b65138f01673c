import type { Config } from '../../config/config.ts';
import { ADDRESS_ERROR, type MailAddress, parseMailAddress, sanitizeHeader } from '../../config/mail.ts';
import { TidemarkError } from '../../core/errors.ts';
import { groupBy } from '../../core/group-by.ts';

type MailConfig = Pick<NonNullable<Config['mail']>, 'routes'>;

/** Glob patterns (`*`, `?`, `[a-z]`) that select targets and projects; null selects all. */
type MailRoute = Readonly<Record<'targets' | 'projects', readonly string[] | null>>;

/** Recipients of the same digest. */
export interface Audience {
  readonly to: readonly MailAddress[];
  /** The digest covers whatever matches at least one of them. */
  readonly routes: readonly MailRoute[];
  /** Whether the digest covers every target and project. */
  readonly isUnfiltered: boolean;
  /** Why they receive the digest, shown in its footer. */
  readonly reason: string;
}

const UNFILTERED = { routes: [{ targets: null, projects: null }], isUnfiltered: true } as const;
const MAX_PATTERNS_LENGTH = 200;

/**
 * The audiences of a job: its own recipients get the unfiltered digest, those of `mail.routes` get their part. Each address gets one
 * digest: its routes are combined, and a recipient of the unfiltered digest gets no other.
 * @throws TidemarkError CONFIG for an invalid address
 */
export function resolveAudiences(job: string, to: readonly string[], mail: MailConfig): readonly Audience[] {
  const recipients = unique(to.map((text) => readAddress(text, `jobs/${job}.yaml: mail.to`)));
  const own = { ...UNFILTERED, to: recipients, reason: `jobs/${job}.yaml names you under mail.to.` };
  const routed = routedAudiences(mail, new Set(recipients.map(mailboxKey)));
  return recipients.length > 0 ? [own, ...routed] : routed;
}

/** The audience that `tidemark mail JOB --to` names. @throws TidemarkError USAGE for an invalid address */
export function explicitRecipients(job: string, to: readonly string[]): Audience {
  return {
    ...UNFILTERED,
    to: unique(to.map((text) => readAddress(text, '--to', 'USAGE'))),
    reason: `it was requested with tidemark mail ${job} --to.`,
  };
}

/** The audience of a preview for which neither the job nor the user names a recipient. */
export const PREVIEW_RECIPIENT = 'preview@localhost';

/** The recipients of routes, those with the same routes together. */
function routedAudiences(mail: MailConfig, excluded: ReadonlySet<string>): readonly Audience[] {
  const routed = mail.routes.flatMap(({ to, targets = null, projects = null }, index) =>
    [to].flat().map((text) => {
      const address = readAddress(text, `tidemark.yaml: mail.routes[${index}].to`);
      return { address, mailbox: mailboxKey(address), route: { targets, projects } };
    }),
  );
  const recipients = groupBy(routed, ({ mailbox }) => mailbox).values();
  const others = [...recipients].filter(([{ mailbox }]) => !excluded.has(mailbox));
  const byRoutes = groupBy(others, (own) => JSON.stringify(own.map(({ route }) => route)));
  return [...byRoutes.values()].map((members) => {
    const routes = members[0].map(({ route }) => route);
    const reason = `mail.routes in tidemark.yaml assigns you ${routes.map(formatRoute).join('; ')}.`;
    return { to: members.map(([{ address }]) => address), routes, isUnfiltered: false, reason };
  });
}

/** `projects payments-*, core of targets eu-*` */
export function formatRoute({ targets, projects }: MailRoute): string {
  const inTargets = targets ? `targets ${sanitizeHeader(targets.join(', '), MAX_PATTERNS_LENGTH)}` : 'every target';
  if (!projects) return inTargets;
  return `projects ${sanitizeHeader(projects.join(', '), MAX_PATTERNS_LENGTH)}${targets ? ` of ${inTargets}` : ''}`;
}

function readAddress(text: string, location: string, code: 'CONFIG' | 'USAGE' = 'CONFIG'): MailAddress {
  const address = parseMailAddress(text);
  if (address) return address;
  throw new TidemarkError(code, `${location}: ${JSON.stringify(text)} ${ADDRESS_ERROR}`);
}

/** Mailboxes are compared without regard to case, as mail servers do. */
function mailboxKey({ address }: MailAddress): string {
  return address.toLowerCase();
}

function unique(addresses: readonly MailAddress[]): readonly MailAddress[] {
  return [...groupBy(addresses, mailboxKey).values()].map(([first]) => first);
}
