import type { Target } from '../config/config.ts';

/** A landed file of rows: CSV with the names of its header, or JSON with one answer a line. */
export interface LandingFile {
  /** File name within the landing folder of the target. */
  readonly file: string;
  readonly format: 'csv' | 'ndjson';
  readonly bytes: number;
  readonly sha256: string;
  /** Bytes of the longest line, for JSON: the reader sizes its buffers by it. */
  readonly longestLine?: number;
  /** Names of the CSV header, in the file's order. */
  readonly columns?: readonly string[];
  /** Whether nulls stand as a bare `null`, as some saved-view and live exports write them. */
  readonly bareNull?: boolean;
}

/** What a source landed whole: enough to load it again without the network. Written beside its files as SOURCE.json. */
export interface Manifest {
  readonly source: string;
  readonly target: string;
  /** What the target's name stood for; see `serviceOf`. */
  readonly service: string;
  readonly run_id: string;
  /** The moment that its rows are valid from, ISO 8601. */
  readonly as_of: string;
  readonly files: readonly LandingFile[];
  /** Rows the service said there are; null when it does not say. */
  readonly expected_rows: number | null;
}

/** Tells whether a target's name still stands for the same service and the same part of it. */
export function targetFingerprint({ url, organization, namespace, mounts, services }: Target): string {
  const { keymgmt, mesh } = mounts;
  return [url, organization, namespace, keymgmt, mesh, ...services].map((part) => part ?? '').join(' ');
}
