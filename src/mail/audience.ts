import type { Config } from '../core/config.ts';
import { TidemarkError } from '../core/errors.ts';
import { ADDRESS_PROBLEM, headerText, type MailAddress, parseMailAddress } from '../core/mail-address.ts';

/** Patterns (`*`, `?`, `[a-z]`) of a part of the estate; null for all. */
export interface Route {
  readonly targets: readonly string[] | null;
  readonly projects: readonly string[] | null;
}

/** Recipients of the same digest. */
export interface Audience {
  readonly to: readonly MailAddress[];
  /** What the digest tells of: anything that one of them names. */
  readonly routes: readonly Route[];
  /** Whether that is everything, whatever there is. */
  readonly whole: boolean;
  /** Why they get it, for the foot of the mail. */
  readonly reason: string;
}

const EVERYTHING: Route = { targets: null, projects: null };

/**
 * Who gets which part: those of the job all of it, those of `mail.routes` theirs. One digest an address: several routes of one
 * owner are joined, and who gets all of it needs no part.
 */
export function audiencesOf(
  job: string,
  to: readonly string[],
  mail: Pick<NonNullable<Config['mail']>, 'routes'>,
): readonly Audience[] {
  const whole = unique(to.map((text) => readAddress(text, `jobs/${job}.yaml: mail.to`)));
  const reason = `jobs/${job}.yaml names you under mail.to.`;
  const everything = whole.length > 0 ? [{ to: whole, routes: [EVERYTHING], whole: true, reason }] : [];
  return [...everything, ...routed(mail, new Set(whole.map(keyOf)))];
}

/** Everything, to whom somebody asked to send it. */
export function askedAudience(job: string, to: readonly string[]): Audience {
  return {
    to: unique(to.map((text) => readAddress(text, '--to', 'USAGE'))),
    routes: [EVERYTHING],
    whole: true,
    reason: `somebody asked for it with tidemark mail ${job} --to.`,
  };
}

function routed(mail: Pick<NonNullable<Config['mail']>, 'routes'>, taken: ReadonlySet<string>): readonly Audience[] {
  const routesOf = new Map<string, { to: MailAddress; routes: Route[] }>();
  for (const [index, { to, targets, projects }] of mail.routes.entries()) {
    for (const text of [to].flat()) {
      const address = readAddress(text, `tidemark.yaml: mail.routes[${index}].to`);
      const known = routesOf.get(keyOf(address)) ?? { to: address, routes: [] };
      known.routes.push({ targets: targets ?? null, projects: projects ?? null });
      routesOf.set(keyOf(address), known);
    }
  }
  const audiences = new Map<string, { to: MailAddress[]; routes: readonly Route[] }>();
  for (const [key, { to, routes }] of routesOf) {
    if (taken.has(key)) continue;
    const same = JSON.stringify(routes);
    const known = audiences.get(same) ?? { to: [], routes };
    known.to.push(to);
    audiences.set(same, known);
  }
  return [...audiences.values()].map(({ to, routes }) => ({
    to,
    routes,
    whole: false,
    reason: `mail.routes in tidemark.yaml gives you ${routes.map(wordsOf).join('; ')}.`,
  }));
}

const MOST_WORDS = 200;

/** `projects payments-*, core of targets eu-*` */
export function wordsOf({ targets, projects }: Route): string {
  const inTargets = targets ? `targets ${headerText(targets.join(', '), MOST_WORDS)}` : 'every target';
  if (!projects) return inTargets;
  return `projects ${headerText(projects.join(', '), MOST_WORDS)}${targets ? ` of ${inTargets}` : ''}`;
}

function readAddress(text: string, place: string, code: 'CONFIG' | 'USAGE' = 'CONFIG'): MailAddress {
  const address = parseMailAddress(text);
  if (address) return address;
  throw new TidemarkError(code, `${place}: ${JSON.stringify(text)} ${ADDRESS_PROBLEM}`);
}

/** Mailboxes are told apart without regard to case, as every real server does. */
function keyOf({ address }: MailAddress): string {
  return address.toLowerCase();
}

function unique(addresses: readonly MailAddress[]): readonly MailAddress[] {
  return [...new Map([...addresses].reverse().map((address) => [keyOf(address), address])).values()].reverse();
}
