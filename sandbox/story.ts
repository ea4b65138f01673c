/** What happens in the company's estate, by day of a fortnight: the story that its services tell. */
const STORY: Readonly<Record<number, string>> = {
  1: 'the network team begins the upgrade to Terraform 1.13.5',
  2: 'payments upgrades development and staging; a pool for an experiment appears',
  3: 'storefront upgrades; somebody rotates the key ledger-archive, which was overdue',
  4: 'identity upgrades; a key is retired',
  5: 'drift in staging of the data platform; legacy-admin loses its management rights',
  6: 'the first production upgrades: network; the provider backup-kms loses its keys',
  7: 'production upgrades: payments; a retired key is deleted',
  8: 'incident: the platform answers 503, and people change production by hand',
  9: 'the platform is back and shows the drift; the policy anonymous may write',
  10: 'all agents of the pool onprem-frankfurt stop responding; payments repairs its drift',
  11: 'network repairs its drift; the role for emergencies is removed',
  12: 'production upgrades: data-platform; an abandoned storage volume is deleted',
  13: 'legacy-admin is a management role again; the key payments-signing is still overdue',
};

const FORTNIGHT = 14;
const INCIDENT_DAY = 8;

/** One line about a day of the sandbox with the estate of the company. */
export function describeDay(day: number): string {
  return STORY[day % FORTNIGHT] ?? 'a quiet night';
}

/** Whether the platform is down on a day. */
export function isIncident(day: number): boolean {
  return day % FORTNIGHT === INCIDENT_DAY;
}

/** The day on which the last of some nights falls, so that they end with the end of the story. */
export function lastDay(nights: number): number {
  return Math.ceil(nights / FORTNIGHT) * FORTNIGHT - 1;
}
