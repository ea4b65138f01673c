import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createProductLinker } from '../../tell/reports/links.ts';
import { subjectPath } from '../../tell/reports/subjects.ts';
import type { Row } from '../../warehouse/values.ts';
import type { TextRow } from './results.ts';
import type { Exchange } from './route.ts';

/** The address of the page of the subject that a row names, if the last run wrote one. It shows the whole history, whatever `as_of` is. */
export function findSubjectPage({ config }: Exchange, row: TextRow): string | undefined {
  const { target, subject_type: type, subject_id: id } = row;
  if (!target || !type || !id) return undefined;
  const path = subjectPath({ target, type, id });
  return existsSync(join(config.output, path)) ? `/reports/${path}` : undefined;
}

/** The page that the product has for the subject that a row names, with the detail of a finding. */
export function findProductPage({ config }: Exchange, row: TextRow) {
  const { target, subject_type: type, subject_id: id, subject_name: name = null, detail } = row;
  const fields = detail ? (JSON.parse(detail) as Row) : row;
  const subject = { target: target ?? '', type: type ?? '', id: id ?? '', name, fields };
  const url = createProductLinker(config.targets)(subject);
  return url === undefined ? null : { url, host: new URL(url).host };
}
