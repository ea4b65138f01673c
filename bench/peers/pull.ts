import { join } from 'node:path';
import { PACKAGE_ROOT } from '../../src/core/paths.ts';
import { timedCommand, type Usage } from '../processes.ts';

/** A pull by dlt: `pull.py`. */
export interface Peer {
  /** The Python that has dlt. */
  readonly python: string;
  /** Of the recorded service. */
  readonly url: string;
  readonly way: 'csv' | 'json';
  /** Holds the warehouse and the state of the pipeline. */
  readonly folder: string;
}

const SCRIPT = join(PACKAGE_ROOT, 'bench', 'peers', 'pull.py');

export function pullWithDlt({ python, url, way, folder }: Peer, disposition: 'scd2' | 'replace'): Promise<Usage> {
  return timedCommand(folder, python, [SCRIPT, url, way, disposition]);
}
