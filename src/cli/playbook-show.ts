import { findDefinition } from '../act/action-call.ts';
import type { ActionDefinition, Change, Playbook } from '../act/define.ts';
import type { Action, Plan } from '../act/plan-file.ts';
import { getOperation } from '../act/registry.ts';
import type { Config } from '../config/config.ts';
import type { Colors } from '../core/color.ts';
import type { Context } from '../core/context.ts';
import { diffValues } from '../core/diff.ts';
import type { Redactor } from '../core/redact/redactor.ts';
import { isSecretField } from '../core/redact/secret-fields.ts';
import { buildRequest, collectSecrets } from '../services/build-request.ts';
import { clean, paintLine } from './diff-text.ts';

/** Lines of a body or a difference; a plan file has the rest. */
const MAX_LINES = 80;

/** Each action of a plan with its API call, and the difference that the call makes. */
export function formatActions(
  plan: Plan,
  playbooks: readonly Playbook[],
  config: Config,
  { colors, redactor }: Pick<Context, 'colors' | 'redactor'>,
): string {
  return plan.actions
    .map((action) => {
      const definition = findDefinition(plan, action, playbooks);
      const call = formatCall(action, config, redactor);
      const difference = formatChange(describeChange(action, definition), colors);
      return `${clean(`${action.action_id}: ${action.summary}`)}\n${block([...call, ...difference], redactor)}`;
    })
    .join('\n');
}

function block(lines: readonly string[], redactor: Redactor): string {
  return redactor.text(lines.map((line) => `  ${line}\n`).join(''));
}

/** Method and URL as they are sent, and the body with its secrets masked. */
function formatCall(action: Action, config: Config, redactor: Redactor): readonly string[] {
  const target = config.targets.find(({ name }) => name === action.target);
  if (!target) return [`${action.operation} of target ${clean(action.target)}, which is not configured`];
  const operation = getOperation(action.operation);
  collectSecrets(operation, action.params, action.body, redactor);
  const parts = { args: action.params, body: action.body, write: true, useFallbackPath: false, pageQuery: [] };
  const { method, url, body } = buildRequest(operation, target, parts);
  const shown = body === undefined ? [] : JSON.stringify(JSON.parse(body), maskSecret, 2).split('\n');
  return [`${method} ${clean(url.href)}`, ...bounded(shown.map((line) => clean(line)))];
}

function maskSecret(name: string, value: unknown): unknown {
  return isSecretField(name) && value !== null ? '***' : value;
}

function masked(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null, maskSecret)) as unknown;
}

/** Where the playbook does not declare it: what is deleted is as the plan was made on. */
function describeChange(action: Action, definition: ActionDefinition | undefined): Change | undefined {
  const declared = definition?.change?.(definition.schema.parse(action.guard.inputs));
  if (declared) return declared;
  return getOperation(action.operation).method === 'DELETE' ? { before: action.guard.inputs, after: null } : undefined;
}

function formatChange(change: Change | undefined, colors: Colors): readonly string[] {
  if (!change) return ['what changes: see the body; the playbook does not declare it'];
  return bounded(diffValues(masked(change.before), masked(change.after)).map((line) => paintLine(line, colors)));
}

function bounded(lines: readonly string[]): readonly string[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `… ${lines.length - MAX_LINES} more lines`];
}
