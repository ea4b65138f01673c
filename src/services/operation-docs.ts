import type { Operation, OperationParam } from './operation.ts';

/** Texts about operations, all from their declarations: help, list, and the table in the docs. */

/** What `tidemark api OPERATION --help` says. */
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
    ...listFacts(operation).map(([name, value]) => `${`${name}:`.padEnd(13)}${value}`),
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
  read: 'as often as needed',
  unsent: 'only where nothing can have happened (429, refused connection)',
  never: 'never by itself',
};

function listFacts(operation: Operation): [string, string][] {
  return [
    ['Request', `${operation.method} ${operation.path}`],
    ['Changes', describeMutation(operation)],
    ['Repeated', RETRY_POLICIES[operation.retryPolicy]],
    ['Permission', operation.permission],
    ['Rule', operation.docsUrl],
  ];
}

function describeMutation(operation: Operation): string {
  if (!operation.mutates) return 'nothing';
  return operation.reversible ? 'yes' : 'yes, and it cannot be undone';
}

/** A row of `tidemark api --list --json`. */
export function toOperationRow(operation: Operation) {
  const {
    name,
    kind,
    method,
    path,
    description,
    retryPolicy,
    reversible,
    permission,
    docsUrl,
    pagination,
    responseType,
  } = operation;
  const params = Object.entries(operation.params).map(
    ([param, { in: place, type, required, description: meaning }]) => ({
      name: param,
      in: place,
      type,
      required: required !== false,
      description: meaning,
    }),
  );
  const body = operation.body ? { required: operation.body.required, example: operation.body.example } : null;
  return {
    operation: name,
    kind,
    method,
    path,
    description,
    params,
    body,
    response_type: responseType,
    pagination: pagination ?? null,
    mutates: operation.mutates,
    retry_policy: retryPolicy,
    reversible,
    permission,
    docs_url: docsUrl,
  };
}

/** docs/operations.md. */
export function formatOperationsMarkdown(operations: Iterable<Operation>): string {
  const rows = [...operations].map((operation) => {
    const { name, method, path, description, retryPolicy, permission, docsUrl } = operation;
    return [
      formatCode(name),
      formatCode(`${method} ${path}`),
      description,
      formatParams(operation),
      describeMutation(operation),
      retryPolicy,
      permission,
      docsUrl,
    ];
  });
  const head = ['Operation', 'Request', 'Does', 'Parameters', 'Changes', 'Repeated', 'Permission', 'Rule'];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escapeCell).join(' | ')} |`);
  return `${INTRODUCTION}\n${table.join('\n')}\n`;
}

const INTRODUCTION = `# Operations

Generated from the declarations in \`src/services\`; a test compares. \`tidemark api OPERATION --help\` shows one of them in full.
A parameter in bold is required, \`body\` is the request body. *Repeated*: \`read\` is retried whenever that may help, \`unsent\` only
where nothing can have happened (429, refused connection), \`never\` not by itself. Paths of secrets begin with the default
mount, which \`mounts\` of the target replaces; \`{organization_name}\` comes from the target.
`;

function formatParams({ params, body }: Operation): string {
  const names = Object.entries(params).map(([name, { required }]) =>
    required === false ? formatCode(name) : `**${formatCode(name)}**`,
  );
  const bodies = body ? [body.required ? '**body**' : 'body'] : [];
  return [...names, ...bodies].join(', ');
}

function formatCode(text: string): string {
  return `\`${text}\``;
}

function escapeCell(cell: string): string {
  return cell.replaceAll('|', '\\|');
}
