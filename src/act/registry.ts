import type { Config } from '../config/config.ts';
import { suggestName } from '../config/suggest.ts';
import { formatError, TidemarkError } from '../core/errors.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import { operations } from '../services/index.ts';
import type { Operation } from '../services/operation.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import type { ActionDefinition, GuardRead, Playbook } from './define.ts';
import { PLAYBOOK_NAME } from './plan-file.ts';

/**
 * Checks playbooks, those of the package and the user's, against the rules, tables and operations that exist.
 * @throws TidemarkError CONFIG with one line per problem: `playbook NAME: field: what, what to do`.
 */
export async function loadPlaybooks(
  { directory, approvers }: Pick<Config, 'directory' | 'approvers'>,
  playbooks: readonly Playbook[],
): Promise<readonly Playbook[]> {
  const roots = overlayRoots(directory);
  const rules = discoverFiles(roots, 'queries/findings', '.sql');
  const registry = { rules, tables: loadTables(createSqlFiles(roots)) };
  const names = playbooks.map(({ name }) => name);
  const problems = [
    ...playbooks.flatMap((playbook, index) =>
      listProblems(playbook, names.indexOf(playbook.name) !== index, registry).map(
        (problem) => `playbook ${playbook.name}: ${problem}`,
      ),
    ),
    // A rule with a misspelled playbook would bind nothing.
    ...(approvers?.rules ?? []).flatMap(({ playbook }, index) =>
      playbook === undefined || names.includes(playbook)
        ? []
        : [`approvers.rules[${index}].playbook: unknown playbook ${playbook}; ${suggestName(playbook, names)}`],
    ),
  ];
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
  return playbooks;
}

/** @throws TidemarkError UNSAFE: a plan that names an unknown operation was not made by this version. */
export function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  throw new TidemarkError('UNSAFE', `unknown operation ${name}`, { hint: 'make a new plan' });
}

/** The playbooks, as reports and `tidemark playbook list` show them. */
export function summarizePlaybooks(playbooks: readonly Playbook[]) {
  return playbooks.map((playbook) => {
    const { name, rule, description: about, table, actions } = playbook;
    const operations = actions.map(({ operation }) => operation);
    return { playbook: name, rule, about, table, operations, reversible: isReversible(playbook) };
  });
}

/** Whether `playbook undo` restores everything that the playbook changes. */
export function isReversible({ actions }: Playbook): boolean {
  return actions.every((action) => isReversibleAction(action));
}

/** An action of an undo plan is reversible unless it deletes something: to repeat the playbook is to undo it. */
export function isReversibleAction({ undo, operation }: ActionDefinition, isUndo = false): boolean {
  return isUndo ? getOperation(operation).method !== 'DELETE' : undo !== undefined;
}

interface Registry {
  readonly rules: ReadonlyMap<string, unknown>;
  readonly tables: ReturnType<typeof loadTables>;
}

/** What is not typed may lack anything, such as the reads of an action. */
function listProblems(playbook: Playbook, isTaken: boolean, registry: Registry): readonly string[] {
  try {
    return [...findProblems(playbook, isTaken, registry)];
  } catch (error) {
    return [`is not what \`definePlaybook\` returns: ${formatError(error)}`];
  }
}

function* findProblems({ name, rule, table, actions }: Playbook, isTaken: boolean, registry: Registry) {
  if (!PLAYBOOK_NAME.test(name)) yield 'name: must be lower-case words joined by `-`';
  if (isTaken) yield 'name: is taken by another playbook';
  yield* checkName('rule', rule, registry.rules);
  yield* checkName('table', table, registry.tables);
  if (actions.length === 0) yield 'actions: must not be empty';
  for (const [index, action] of actions.entries()) {
    const place = `actions[${index}].`;
    if (actions.findIndex(({ operation }) => operation === action.operation) !== index) {
      yield `${place}operation: is that of another action: a plan identifies an action by its operation`;
    }
    yield* checkAction(action, place, registry);
  }
}

function* checkName(place: string, name: string, known: ReadonlyMap<string, unknown>) {
  if (!known.has(name)) yield `${place}: unknown: ${name}; ${suggestName(name, known.keys())}`;
}

/** `place`: where the action is, up to the name of a field. */
function* checkAction(action: ActionDefinition, place: string, registry: Registry): Generator<string> {
  const { reads, undo, body } = action;
  const call = yield* checkCall(action, place, action, true);
  if (call?.body?.required && !body) yield `${place}body: is required by ${call.name}`;
  if (call && !call.body && body) yield `${place}body: is not accepted by ${call.name}`;
  for (const [name, read] of Object.entries(reads)) yield* checkRead(read, `${place}reads.${name}.`, action, registry);
  if (Object.keys(reads).length === 0) yield `${place}reads: must not be empty: every action is guarded by a read`;
  if (undo) yield* checkAction(undo.action, `${place}undo.`, registry);
}

function* checkRead(read: GuardRead, place: string, action: ActionDefinition, registry: Registry): Generator<string> {
  const operation = yield* checkCall(read, place, action, false);
  const call = operations.get(action.operation);
  if (operation && call && operation.kind !== call.kind) {
    yield `${place}operation: belongs to another kind of target than ${call.name}`;
  }
  if (!read.absence) return;
  const { list, subject, known } = read.absence;
  if (list) yield* checkRead(list, `${place}absence.list.`, action, registry);
  for (const input of [subject, ...(known.within ? [known.within[1]] : [])]) {
    if (!action.inputNames.includes(input)) yield `${place}absence: unknown input ${input}`;
  }
  yield* checkName(`${place}absence.known.table`, known.table, registry.tables);
  const columns = new Map(registry.tables.get(known.table)?.columns.map(({ name }) => [name, name]));
  const asked = columns.size > 0 ? [known.column, ...(known.within?.slice(0, 1) ?? [])] : [];
  for (const column of asked) yield* checkName(`${place}absence.known.column`, column, columns);
}

/** An operation with its parameters. With `allPages`, the reader chooses the page size. @returns the operation, if there is one */
function* checkCall(
  { operation: name, params: given, allPages }: Pick<GuardRead, 'operation' | 'params' | 'allPages'>,
  place: string,
  { inputNames }: Pick<ActionDefinition, 'inputNames'>,
  mutates: boolean,
): Generator<string, Operation | undefined> {
  yield* checkName(`${place}operation`, name, operations);
  const operation = operations.get(name);
  if (!operation) return undefined;
  const { params } = operation;
  if (operation.mutates !== mutates) yield `${place}operation: ${name} changes ${mutates ? 'nothing' : 'something'}`;
  for (const [param, source] of Object.entries(given)) {
    if (!Object.hasOwn(params, param)) {
      yield `${place}params.${param}: is not a parameter of ${name}; ${suggestName(param, Object.keys(params))}`;
    }
    if (typeof source === 'string' && !inputNames.includes(source)) {
      yield `${place}params.${param}: unknown input ${source}; known are ${inputNames.join(', ')}`;
    }
  }
  for (const [param, { required }] of Object.entries(params)) {
    const isNeeded = required !== false && !(allPages && required === 'spec');
    if (isNeeded && !Object.hasOwn(given, param)) yield `${place}params: ${name} needs \`${param}\``;
  }
  return operation;
}
