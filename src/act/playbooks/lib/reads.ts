import { listAt, textAt } from '../../../core/json-path.ts';
import type { AbsenceEvidence, GuardRead, ParameterSources, ReadResult } from '../../define.ts';

/** How subjects are read, and what proves that one is gone: the list that would contain it, and where the warehouse knows its other items. */

export function read(operation: string, params: ParameterSources, absence?: AbsenceEvidence): GuardRead {
  return { operation, params, ...(absence && { absence }) };
}

/** A read of every page of a list. */
export function readPages(operation: string, params: ParameterSources = {}, absence?: AbsenceEvidence): GuardRead {
  return { operation, params, allPages: true, ...(absence && { absence }) };
}

/** The IDs in the column `TABLE.COLUMN`, of all parents or of the one that column and input `parent` name, with the input of the subject. */
export function known(subject: string, place: string, parent?: string): Pick<AbsenceEvidence, 'subject' | 'known'> {
  const [table = '', column = ''] = place.split('.');
  return { subject, known: { table, column, ...(parent !== undefined && { within: [parent, parent] }) } };
}

/** Items whose ID is the text at `path`. */
export function itemIds(...path: string[]): AbsenceEvidence['listIds'] {
  return (items) => (Array.isArray(items) ? items.flatMap((item) => textAt(item, ...path) ?? []) : []);
}

/** A list of items with an `id`. */
export function listItemsById(
  operation: string,
  params: ParameterSources = {},
): Pick<AbsenceEvidence, 'list' | 'listIds'> {
  return { list: { operation, params, allPages: true }, listIds: itemIds('id') };
}

/** The names in a LIST of the secrets service. */
export function listSecretNames(
  operation: string,
  params: ParameterSources = {},
): Pick<AbsenceEvidence, 'list' | 'listIds'> {
  return { list: { operation, params }, listIds: (body) => (listAt(body, 'data', 'keys') ?? []).map(String) };
}

/** The body of a response; undefined where the subject was not found. */
export function responseBody(result: ReadResult): unknown {
  return result.found ? result.value : undefined;
}

/** The items of a read with `allPages`. */
export function responseItems(result: ReadResult): readonly unknown[] {
  return result.found && Array.isArray(result.value) ? result.value : [];
}
