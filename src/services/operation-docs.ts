import type { Operation, OperationParam } from './operation.ts';
import { findPermission } from './permission.ts';

/** The text of `tidemark api OPERATION --help`. */
export function formatOperationHelp(operation: Operation): string {
  const { params, body } = operation;
  const names = Object.entries(params);
  const width = Math.max(0, ...names.map(([name]) => name.length));
  const usage = names.filter(([, { required }]) => required !== false).map(([name]) => ` ${name}=…`);
  const lines = [
    `${operation.name}: ${operation.description}`,
    '',
    `Usage: tidemark api ${operation.name}${usage.join('')}${body?.required ? ' --body JSON|@FILE|-' : ''}`,
    '',
    ...names.map(([name, param]) => `  ${name.padEnd(width)}  ${describeParam(param)}`),
    ...(names.length > 0 ? [''] : []),
    ...(body ? [`Body${body.required ? '' : ' (optional)'}, such as ${body.example}`, ''] : []),
    ...listFacts(operation).map(([name, value]) => `${`${name}:`.padEnd(15)}${value}`),
  ];
  return `${lines.join('\n')}\n`;
}

function describeParam({ description, required, type }: OperationParam): string {
  const notes = [
    ...(type === 'string' ? [] : [type]),
    ...(required === true ? ['required'] : []),
    ...(required === 'spec' ? ['required, but not with flavor hashicorp'] : []),
  ];
  return `${description}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}

const RETRY_POLICIES: Record<Operation['retryPolicy'], string> = {
  safe: 'after every transient failure',
  'if-unprocessed': 'only if the service did not process it (status 429, connection refused)',
  never: 'never',
};

function listFacts(operation: Operation): [string, string][] {
  const { mutates, reversible } = operation;
  return [
    ['Request', `${operation.method} ${operation.path}`],
    ['Changes', mutates ? `yes${reversible ? '' : ', irreversibly'}` : 'nothing'],
    ['Retried', RETRY_POLICIES[operation.retryPolicy]],
    ['Permission', findPermission(operation).text],
    ['Documentation', operation.docsUrl],
  ];
}

/** One row of `tidemark api --list --json`. */
export function toOperationRow(operation: Operation) {
  const { params, body } = operation;
  return {
    operation: operation.name,
    kind: operation.kind,
    method: operation.method,
    path: operation.path,
    description: operation.description,
    params: Object.entries(params).map(([name, { in: location, type, required, description }]) => ({
      name,
      in: location,
      type,
      required: required !== false,
      description,
    })),
    body: body ? { required: body.required, example: body.example } : null,
    response_type: operation.responseType,
    pagination: operation.pagination ?? null,
    mutates: operation.mutates,
    retry_policy: operation.retryPolicy,
    reversible: operation.reversible,
    permission: findPermission(operation).text,
    docs_url: operation.docsUrl,
  };
}
