import { readEstate } from './estate.ts';
import { FORTNIGHT } from './types.ts';

const INCIDENT_DAY = 8;

/** One line about a day of the sandbox with the estate of the company. */
export function describeDay(day: number): string {
  return readEstate('company').story[day % FORTNIGHT] ?? 'a quiet night';
}

/** Whether the platform is down on a day. */
export function isIncident(day: number): boolean {
  return day % FORTNIGHT === INCIDENT_DAY;
}

/** The day on which the last of some nights falls, so that they end with the end of the story. */
export function lastDay(nights: number): number {
  return Math.ceil(nights / FORTNIGHT) * FORTNIGHT - 1;
}
