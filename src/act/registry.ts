import type { Config } from '../config/config.ts';
import { closestMatch, suggestName, unknownName } from '../config/suggest.ts';
import { TidemarkError } from '../core/errors.ts';
import { discoverFiles, overlayRoots } from '../core/paths.ts';
import { operations } from '../services/index.ts';
import type { Operation } from '../services/operation.ts';
import type { PlaybookSummary } from '../tell/reports/index.ts';
import { createSqlFiles } from '../warehouse/sql-files.ts';
import { loadTables } from '../warehouse/tables.ts';
import type { ActionDefinition, GuardRead, ParameterSources, Playbook } from './define.ts';

/**
 * Checks playbooks, those of the package and the user's, against the rules, tables and operations that exist.
 * @throws TidemarkError CONFIG with one line per problem: `playbook NAME: field: what, what to do`.
 */
export async function loadPlaybooks(
  config: Pick<Config, 'directory' | 'approvers'>,
  playbooks: readonly Playbook[],
): Promise<readonly Playbook[]> {
  const roots = overlayRoots(config.directory);
  const rules = new Set(discoverFiles(roots, 'queries/findings', '.sql').keys());
  const tables = new Set(loadTables(createSqlFiles(roots)).keys());
  validatePlaybooks(playbooks, { rules, tables });
  validateApprovalRules(config, playbooks);
  return playbooks;
}

/** A rule with a misspelled playbook would bind nothing. */
function validateApprovalRules({ approvers }: Pick<Config, 'approvers'>, playbooks: readonly Playbook[]): void {
  const names = playbooks.map(({ name }) => name);
  const problems = (approvers?.rules ?? []).flatMap(({ playbook }, index) =>
    playbook === undefined || names.includes(playbook)
      ? []
      : [`approvers.rules[${index}].playbook: unknown playbook ${playbook}; ${suggestName(playbook, names)}`],
  );
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
}

/** @throws TidemarkError USAGE that suggests the closest name. */
export function getPlaybook(playbooks: readonly Playbook[], name: string): Playbook {
  const playbook = playbooks.find((candidate) => candidate.name === name);
  if (playbook) return playbook;
  const names = playbooks.map((candidate) => candidate.name);
  throw unknownName('playbook', name, names);
}

/** @throws TidemarkError UNSAFE: a plan that names an unknown operation was not made by this version. */
export function getOperation(name: string): Operation {
  const operation = operations.get(name);
  if (operation) return operation;
  throw new TidemarkError('UNSAFE', `unknown operation ${name}`, { hint: 'make a new plan' });
}

/** The playbooks, as reports show them. */
export function summarizePlaybooks(playbooks: readonly Playbook[]): readonly PlaybookSummary[] {
  return playbooks.map((playbook) => ({
    playbook: playbook.name,
    rule: playbook.rule,
    about: playbook.description,
    reversible: isReversible(playbook),
  }));
}

/** Whether `playbook undo` restores everything that the playbook changes. */
export function isReversible({ actions }: Playbook): boolean {
  return actions.every((action) => isReversibleAction(action));
}

/** An action of an undo plan is reversible unless it deletes something: to repeat the playbook is to undo it. */
export function isReversibleAction({ undo, operation }: ActionDefinition, isUndo = false): boolean {
  return isUndo ? getOperation(operation).method !== 'DELETE' : undo !== undefined;
}

/** The names that a playbook may refer to. */
interface Registry {
  readonly rules: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
}

type Report = (field: string, message: string) => void;

/** @throws TidemarkError CONFIG with one line per problem: `playbook NAME: field: what, what to do`. */
function validatePlaybooks(playbooks: readonly Playbook[], registry: Registry): void {
  const problems: string[] = [];
  const names = new Set<string>();
  for (const { name, rule, table, actions } of playbooks) {
    const report: Report = (field, message) => problems.push(`playbook ${name}: ${field}: ${message}`);
    if (!/^[a-z][a-z0-9-]*$/u.test(name)) report('name', 'must be lower-case words joined by `-`');
    if (names.has(name)) report('name', 'is taken by another playbook');
    names.add(name);
    checkName(report, 'rule', rule, registry.rules);
    checkName(report, 'table', table, registry.tables);
    if (actions.length === 0) report('actions', 'must not be empty');
    for (const [index, action] of actions.entries()) {
      const place = `actions[${index}].`;
      if (actions.findIndex(({ operation }) => operation === action.operation) !== index) {
        report(`${place}operation`, 'is that of another action: a plan identifies an action by its operation');
      }
      checkAction(action, registry, (field, message) => report(`${place}${field}`, message));
    }
  }
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
}

function checkName(report: Report, field: string, name: string, known: ReadonlySet<string>): void {
  if (!known.has(name)) report(field, `unknown: ${name}${suggestClosest(name, known)}`);
}

function suggestClosest(name: string, known: Iterable<string>): string {
  const closest = closestMatch(name, known);
  return closest ? `; did you mean \`${closest}\`?` : '';
}

function checkAction(action: ActionDefinition, registry: Registry, report: Report): void {
  const call = findOperation('operation', action.operation, report);
  if (call) {
    if (!call.mutates) report('operation', `${call.name} changes nothing`);
    checkParams(call, action.params, action.inputNames, (field, message) => report(`params${field}`, message));
    if (call.body?.required && !action.hasBody) report('body', `is required by ${call.name}`);
    if (!call.body && action.hasBody) report('body', `is not accepted by ${call.name}`);
  }
  for (const [name, read] of Object.entries(action.reads)) {
    checkRead(read, { call, action, registry }, (field, message) => report(`reads.${name}${field}`, message));
  }
  if (Object.keys(action.reads).length === 0) report('reads', 'must not be empty: every action is guarded by a read');
  if (action.undo) checkAction(action.undo.action, registry, (field, message) => report(`undo.${field}`, message));
}

interface ReadScope {
  readonly call: Operation | undefined;
  readonly action: ActionDefinition;
  readonly registry: Registry;
}

function checkRead({ operation: name, params, allPages, absence }: GuardRead, scope: ReadScope, report: Report): void {
  const { call, action, registry } = scope;
  const operation = findOperation('.operation', name, report);
  if (!operation) return;
  if (operation.mutates) report('.operation', `${name} changes something`);
  if (call && operation.kind !== call.kind) {
    report('.operation', `belongs to another kind of target than ${call.name}`);
  }
  const reportParam: Report = (param, message) => report(`.params${param}`, message);
  checkParams(operation, params, action.inputNames, reportParam, allPages);
  if (!absence) return;
  const { list, subject, known } = absence;
  if (list) checkRead(list, scope, (field, message) => report(`.absence.list${field}`, message));
  for (const input of [subject, ...(known.within ? [known.within[1]] : [])]) {
    if (!action.inputNames.includes(input)) report('.absence', `unknown input ${input}`);
  }
  checkName(report, '.absence.known.table', known.table, registry.tables);
}

function findOperation(field: string, name: string, report: Report): Operation | undefined {
  checkName(report, field, name, new Set(operations.keys()));
  return operations.get(name);
}

/** With `allPages`, the reader chooses the page size. */
function checkParams(
  { name, params }: Operation,
  given: ParameterSources,
  inputNames: readonly string[],
  report: Report,
  allPages = false,
): void {
  for (const [param, source] of Object.entries(given)) {
    if (!Object.hasOwn(params, param)) {
      report(`.${param}`, `is not a parameter of ${name}${suggestClosest(param, Object.keys(params))}`);
    }
    if (typeof source === 'string' && !inputNames.includes(source)) {
      report(`.${param}`, `unknown input ${source}; known are ${inputNames.join(', ')}`);
    }
  }
  for (const [param, { required }] of Object.entries(params)) {
    const isNeeded = required !== false && !(allPages && required === 'spec');
    if (isNeeded && !Object.hasOwn(given, param)) report('', `${name} needs \`${param}\``);
  }
}
