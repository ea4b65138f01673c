import { readTime } from '../../../core/clock.ts';
import { listAt, textAt } from '../../../core/json-path.ts';
import { type AbsenceEvidence, type GuardRead, NO_ID, type ParameterSources, type ReadResult } from '../../define.ts';

/** How subjects are read, and what proves that one is gone: the list that would contain it, and where the warehouse knows its other items. */

export function readPages(operation: string, params: ParameterSources = {}, absence?: AbsenceEvidence): GuardRead {
  return { operation, params, allPages: true, ...(absence && { absence }) };
}

/**
 * What a list proves that lacks a subject: nothing, where an item has no ID.
 * @param id where an item of the list has its ID: a path; an item may also be a name
 * @param subject the input with the ID of the subject
 * @param place the column that holds the IDs of all subjects: `TABLE.COLUMN`
 * @param parent the column and the input that restrict them to one parent
 */
export function evidence(id: readonly string[], subject: string, place: string, parent?: string): AbsenceEvidence {
  const [table = '', column = ''] = place.split('.');
  const toId = (item: unknown) => (typeof item === 'string' ? item : textAt(item, ...id)) ?? NO_ID;
  return {
    listIds: (items) => (listAt(items) ?? []).map(toId),
    subject,
    known: { table, column, ...(parent !== undefined && { within: [parent, parent] }) },
  };
}

/** The same of a list that lacks what an action adds: to create one too many is all that a wrong list could cause. */
export function additionEvidence(...args: Parameters<typeof evidence>): AbsenceEvidence {
  const { listIds, ...own } = evidence(...args);
  return { ...own, listIds: (...list) => listIds(...list).filter((id) => id !== NO_ID), provenWhenNoneKnown: true };
}

/**
 * A read of one subject. The list of its resource, `KIND.RESOURCE.list`, proves that it is gone.
 * @param place as for `evidence`
 * @param of the parameters of the list, such as the parent. The subject is the first of the other parameters
 * @param id the field of a list's item with its ID
 */
export function readSubject(
  operation: string,
  params: ParameterSources,
  place: string,
  { of = {}, id = 'id' }: { readonly of?: ParameterSources; readonly id?: string } = {},
): GuardRead {
  const list = readPages(operation.replace(/[^.]+$/u, 'list'), of);
  const [subject] = Object.keys(params).filter((name) => !Object.hasOwn(of, name));
  const [parent] = Object.values(of).filter((source) => typeof source === 'string');
  return { operation, params, absence: { list, ...evidence([id], String(params[subject ?? '']), place, parent) } };
}

/** The body of a response; undefined where the subject was not found. */
export function responseBody(result: ReadResult): unknown {
  return result.found ? result.value : undefined;
}

/** A time as ISO 8601; what cannot be read as the text that it is, since another text may be another time. Null for none. */
export function showTime(value: unknown): string | null {
  return readTime(value)?.toISOString() ?? textAt(value);
}

/** The items of a read with `allPages`. */
export function responseItems(result: ReadResult): readonly unknown[] {
  return result.found && Array.isArray(result.value) ? result.value : [];
}
