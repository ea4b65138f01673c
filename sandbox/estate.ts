import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { PlatformData } from './platform/context.ts';
import { createMemo } from './random.ts';
import type { SchedulerEstate } from './scheduler/records.ts';
import type { SecretsEstate } from './secrets/context.ts';
import { type EstateName, FORTNIGHT } from './types.ts';

/** The data that the services are generated from: `estates/NAME.yaml`. */
export interface Estate {
  /** A line about each day of a fortnight. */
  readonly story: Readonly<Record<number, string>>;
  readonly platform: PlatformData;
  readonly scheduler: SchedulerEstate;
  readonly secrets: SecretsEstate;
  readonly autoscaler: {
    /** What is scaled, in rounds; without any, numbered tiers. */
    readonly scaled: readonly string[];
    /** Further policies. */
    readonly plantedPolicies: readonly string[];
    readonly plantedSources: readonly string[];
  };
  readonly mesh: {
    /** The services that have a certificate on day 0, with its validity in days. */
    readonly services: Readonly<Record<string, number | 'default'>>;
    /** The name of the second root. */
    readonly plantedRoot: string | null;
  };
  readonly registry: {
    /** Why a provider is not maintained, and a module deprecated. */
    readonly reason: string;
  };
}

const estates = createMemo<Estate>();

export function readEstate(name: EstateName): Estate {
  // Of this file and of the bundle, the parent is the folder of the package.
  const file = new URL(`../sandbox/estates/${name}.yaml`, import.meta.url);
  return estates(name, () => parse(readFileSync(file, 'utf8')) as Estate);
}

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
