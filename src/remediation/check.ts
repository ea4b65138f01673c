import { TidemarkError } from '../core/errors.ts';
import { nearestName } from '../core/yaml-file.ts';
import type { Playbook } from '../playbooks/playbook.ts';
import type { Parameters, Step } from '../playbooks/step.ts';
import type { Operation } from '../services/operation.ts';

/** What a playbook may name. */
export interface Known {
  readonly rules: ReadonlySet<string>;
  readonly tables: ReadonlySet<string>;
  readonly operations: ReadonlyMap<string, Operation>;
}

type Say = (field: string, message: string) => void;

/**
 * Checks every playbook before any is used.
 * @throws TidemarkError CONFIG with one line a problem: `src/playbooks/NAME.ts: field: what, what to do`.
 */
export function checkPlaybooks(playbooks: readonly Playbook[], known: Known): void {
  const problems: string[] = [];
  const names = new Set<string>();
  for (const playbook of playbooks) {
    const say: Say = (field, message) => problems.push(`src/playbooks/${playbook.name}.ts: ${field}: ${message}`);
    if (!/^[a-z][a-z0-9-]*$/u.test(playbook.name)) say('name', 'must be lower-case words joined by `-`');
    if (names.has(playbook.name)) say('name', 'is taken by another playbook');
    names.add(playbook.name);
    requireKnown(say, 'rule', playbook.rule, known.rules);
    requireKnown(say, 'table', playbook.table, known.tables);
    if (playbook.steps.length === 0) say('steps', 'must hold at least one');
    for (const [index, step] of playbook.steps.entries()) {
      if (playbook.steps.findIndex(({ operation }) => operation === step.operation) !== index) {
        say(`steps[${index}].operation`, 'is that of another step: an action is told by its operation');
      }
      checkStep(step, known, (field, message) => say(`steps[${index}].${field}`, message));
    }
  }
  if (problems.length > 0) throw new TidemarkError('CONFIG', problems.join('\n'));
}

function requireKnown(say: Say, field: string, name: string, known: ReadonlySet<string>): boolean {
  if (known.has(name)) return true;
  const nearest = nearestName(name, known);
  say(field, `unknown: ${name}${nearest ? `; did you mean \`${nearest}\`?` : ''}`);
  return false;
}

function checkStep(step: Step, { operations }: Known, say: Say): void {
  const deed = operationIn(operations, 'operation', step.operation, say);
  if (deed) {
    if (!deed.changes) say('operation', `${deed.name} changes nothing`);
    checkParameters(deed, step.params, step.factNames, (field, message) => say(`params${field}`, message));
    if (deed.body?.required && !step.hasBody) say('body', `is required: ${deed.name} takes one`);
    if (!deed.body && step.hasBody) say('body', `${deed.name} takes none`);
  }
  for (const [name, read] of Object.entries(step.reads)) {
    const field = `reads.${name}`;
    const operation = operationIn(operations, `${field}.operation`, read.operation, say);
    if (!operation) continue;
    if (operation.changes) say(`${field}.operation`, `${operation.name} changes something`);
    if (deed && operation.kind !== deed.kind)
      say(`${field}.operation`, `asks another kind of target than ${deed.name}`);
    checkParameters(operation, read.params, step.factNames, (param, message) =>
      say(`${field}.params${param}`, message),
    );
  }
  if (Object.keys(step.reads).length === 0) say('reads', 'must hold at least one: a deed is guarded by a reading');
}

function operationIn(operations: Known['operations'], field: string, name: string, say: Say): Operation | undefined {
  requireKnown(say, field, name, new Set(operations.keys()));
  return operations.get(name);
}

function checkParameters({ name, params }: Operation, given: Parameters, facts: readonly string[], say: Say): void {
  for (const [param, from] of Object.entries(given)) {
    if (!Object.hasOwn(params, param)) {
      const nearest = nearestName(param, Object.keys(params));
      say(`.${param}`, `is no parameter of ${name}${nearest ? `; did you mean \`${nearest}\`?` : ''}`);
    }
    if (typeof from === 'string' && !facts.includes(from)) {
      say(`.${param}`, `unknown fact ${from}; known are ${facts.join(', ')}`);
    }
  }
  for (const [param, { required }] of Object.entries(params)) {
    if (required !== false && !Object.hasOwn(given, param)) say('', `${name} needs \`${param}\``);
  }
}
