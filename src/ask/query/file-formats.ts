import { extname } from 'node:path';
import type { Format } from '../../core/choices.ts';

const EXTENSIONS: Readonly<Record<string, Format>> = {
  '.csv': 'csv',
  '.json': 'json',
  '.ndjson': 'ndjson',
  '.jsonl': 'ndjson',
  '.md': 'markdown',
  '.parquet': 'parquet',
  '.xlsx': 'xlsx',
  '.txt': 'table',
};

/** The format of a file by its extension. */
export function formatForFile(file: string): Format | undefined {
  return EXTENSIONS[extname(file).toLowerCase()];
}

export const KNOWN_EXTENSIONS = Object.keys(EXTENSIONS).join(', ');
