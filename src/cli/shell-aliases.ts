/** What people of other shells type. */
const ALIASES: Readonly<Record<string, string>> = {
  '\\d': '.schema',
  '\\dt': '.tables',
  '\\q': '.quit',
  '\\?': '.help',
  exit: '.quit',
  quit: '.quit',
  help: '.help',
};

/** The command of a line, unless it begins a statement. */
export function toCommand(line: string): string | undefined {
  if (line.startsWith('.')) return line;
  const [word = '', ...rest] = line.replace(/;$/u, '').split(/\s+/u);
  const name = ALIASES[word.toLowerCase()];
  if (name === undefined) return word.startsWith('\\') ? word : undefined;
  return name === '.schema' && rest.length === 0 ? '.tables' : [name, ...rest].join(' ');
}
