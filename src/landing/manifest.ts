import type { Target } from '../config/config.ts';

/** A data file of a landing: CSV with a header, or JSON with one response per line. */
export interface LandingFile {
  /** Name in the landing directory of the target. */
  readonly file: string;
  readonly format: 'csv' | 'ndjson';
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes of the longest line, for the buffer size of the reader. */
  readonly longestLine?: number;
  /** Column names of a CSV header, in order. */
  readonly columns?: readonly string[];
  /** Whether NULL may be written as `null`: docs/services/platform.md#csv-export. */
  readonly bareNull?: boolean;
}

/** Describes the complete landing of a source, which can be loaded without the network. It is the file SOURCE.json in the landing. */
export interface Manifest {
  readonly source: string;
  readonly target: string;
  /** `targetFingerprint` of the target. */
  readonly service: string;
  readonly run_id: string;
  /** The time that the rows are valid from, ISO 8601. */
  readonly as_of: string;
  readonly files: readonly LandingFile[];
  /** Number of rows that the service reports; null if it reports none. */
  readonly expected_rows: number | null;
  /** What a reader of the rows should know, such as a plugin that could not list. */
  readonly notes?: readonly string[];
}

/** Identifies what a target refers to. A change means that rows of the same target name come from somewhere else. */
export function targetFingerprint({ url, organization, namespace, mounts, services }: Target): string {
  const { keymgmt, mesh } = mounts;
  return [url, organization, namespace, keymgmt, mesh, ...services].map((part) => part ?? '').join(' ');
}
