import type { Operation, Param } from './operation.ts';

/** Texts about operations, all from their declarations: help, list, and the table in the docs. */

/** What `tidemark api OPERATION --help` says. */
export function operationHelp(operation: Operation): string {
  const { params, body } = operation;
  const names = Object.entries(params);
  const width = Math.max(0, ...names.map(([name]) => name.length));
  const usage = names.filter(([, { required }]) => required !== false).map(([name]) => ` ${name}=…`);
  const lines = [
    `${operation.name}: ${operation.about}`,
    '',
    `Usage: tidemark api ${operation.name}${usage.join('')}${body?.required ? ' --body JSON|@FILE|-' : ''}`,
    '',
    ...names.map(([name, param]) => `  ${name.padEnd(width)}  ${paramHelp(param)}`),
    ...(names.length > 0 ? [''] : []),
    ...(body ? [`Body${body.required ? '' : ' (optional)'}, such as ${body.example}`, ''] : []),
    ...facts(operation).map(([name, value]) => `${`${name}:`.padEnd(13)}${value}`),
  ];
  return `${lines.join('\n')}\n`;
}

function paramHelp({ about, required, type }: Param): string {
  const notes = [
    ...(type === 'string' ? [] : [type]),
    ...(required === true ? ['required'] : []),
    ...(required === 'documents' ? ['required, but not with flavor hashicorp'] : []),
  ];
  return `${about}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
}

const REPEATS: Record<Operation['repeat'], string> = {
  read: 'as often as needed',
  unsent: 'only where nothing can have happened (429, refused connection)',
  never: 'never by itself',
};

function facts(operation: Operation): [string, string][] {
  return [
    ['Request', `${operation.method} ${operation.path}`],
    ['Changes', changes(operation)],
    ['Repeated', REPEATS[operation.repeat]],
    ['Permission', operation.permission],
    ['Rule', operation.rule],
  ];
}

function changes(operation: Operation): string {
  if (!operation.changes) return 'nothing';
  return operation.reversible ? 'yes' : 'yes, and it cannot be undone';
}

/** A row of `tidemark api --list --json`. */
export function operationRow(operation: Operation) {
  const { name, kind, method, path, about, repeat, reversible, permission, rule, paging, answers } = operation;
  const params = Object.entries(operation.params).map(([param, { in: place, type, required, about: meaning }]) => ({
    name: param,
    in: place,
    type,
    required: required !== false,
    about: meaning,
  }));
  const body = operation.body ? { required: operation.body.required, example: operation.body.example } : null;
  return {
    operation: name,
    kind,
    method,
    path,
    about,
    params,
    body,
    answers,
    paging: paging ?? null,
    changes: operation.changes,
    repeat,
    reversible,
    permission,
    rule,
  };
}

/** docs/operations.md. */
export function operationsMarkdown(operations: Iterable<Operation>): string {
  const rows = [...operations].map((operation) => {
    const { name, method, path, about, repeat, permission, rule } = operation;
    return [
      code(name),
      code(`${method} ${path}`),
      about,
      paramsCell(operation),
      changes(operation),
      repeat,
      permission,
      rule,
    ];
  });
  const head = ['Operation', 'Request', 'Does', 'Parameters', 'Changes', 'Repeated', 'Permission', 'Rule'];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(escaped).join(' | ')} |`);
  return `${INTRODUCTION}\n${table.join('\n')}\n`;
}

const INTRODUCTION = `# Operations

Generated from the declarations in \`src/services\`; a test compares. \`tidemark api OPERATION --help\` shows one of them in full.
A parameter in bold is required, \`body\` is the request body. *Repeated*: \`read\` is retried whenever that may help, \`unsent\` only
where nothing can have happened (429, refused connection), \`never\` not by itself. Paths of secrets begin with the default
mount, which \`mounts\` of the target replaces; \`{organization_name}\` comes from the target.
`;

function paramsCell({ params, body }: Operation): string {
  const names = Object.entries(params).map(([name, { required }]) =>
    required === false ? code(name) : `**${code(name)}**`,
  );
  const bodies = body ? [body.required ? '**body**' : 'body'] : [];
  return [...names, ...bodies].join(', ');
}

function code(text: string): string {
  return `\`${text}\``;
}

function escaped(cell: string): string {
  return cell.replaceAll('|', '\\|');
}
