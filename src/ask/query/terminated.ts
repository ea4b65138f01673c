/** Texts, quoted names and comments as DuckDB's lexer reads them, also where they do not end. */
const QUOTED =
  /[eE]'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\$(\w*)\$[\s\S]*?(?:\$\1\$|$)|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/gu;

/** Whether the text ends with a semicolon outside quotes and comments: the shell runs it then. */
export function isTerminated(sql: string): boolean {
  return sql
    .replaceAll(QUOTED, (part) => (/^(?:--|\/\*)/u.test(part) ? ' ' : "''"))
    .trimEnd()
    .endsWith(';');
}
