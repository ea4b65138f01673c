import { messageOf, TidemarkError } from '../core/errors.ts';
import { discover } from '../core/paths.ts';
import { parseHeader, type SqlFiles } from '../warehouse/sql-files.ts';

export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** A rule as its file in `queries/findings/` declares it; the file's name is the rule's. */
export interface Rule {
  readonly name: string;
  /** What it finds, in one sentence. */
  readonly about: string;
  /** Severity of a row that names none. */
  readonly severity: Severity;
  /** The highest severity that a row of it may have. */
  readonly worst: Severity;
  /** What kind of thing a finding of it is about. */
  readonly subject: string;
  /** Every source that it relies on: what it does not find is gone only when all of them were pulled completely. */
  readonly sources: readonly string[];
  /** Its query, without the closing semicolon. */
  readonly sql: string;
}

/** A rule that cannot be asked, and why. */
export interface InvalidRule {
  readonly rule: string;
  readonly error: string;
}

/** Every rule, in the order of their names; apart, those whose head is not as it must be. */
export async function readRules(
  files: SqlFiles,
): Promise<{ readonly rules: readonly Rule[]; readonly refused: readonly InvalidRule[] }> {
  const names = [...(await discover(files.roots, 'queries/findings', '.sql')).keys()];
  const rules: Rule[] = [];
  const refused: InvalidRule[] = [];
  for (const name of names) {
    try {
      rules.push(parseRule(name, await files.read(`findings/${name}`)));
    } catch (error) {
      refused.push({ rule: name, error: messageOf(error) });
    }
  }
  return { rules, refused };
}

/** Every rule by name. @throws TidemarkError DATA naming the files whose head is not as it must be. */
export async function loadRules(files: SqlFiles): Promise<ReadonlyMap<string, Rule>> {
  const { rules, refused } = await readRules(files);
  if (refused.length > 0) throw new TidemarkError('DATA', refused.map(({ error }) => error).join('\n'));
  return new Map(rules.map((rule) => [rule.name, rule]));
}

function parseRule(name: string, sql: string): Rule {
  const header = parseHeader(sql);
  const line = (key: string): string => header[key] ?? invalidHeader(name, key, 'is missing');
  const severity = parseSeverity(name, 'severity', line('severity'));
  const sources = line('sources');
  return {
    name,
    about: line('rule'),
    severity,
    worst: header.worst === undefined ? severity : parseSeverity(name, 'worst', header.worst),
    subject: line('subject'),
    sources: sources === 'none' ? [] : sources.split(/,\s*/u),
    sql: sql.replace(/;\s*$/u, ''),
  };
}

function parseSeverity(name: string, key: string, text: string): Severity {
  return (
    SEVERITIES.find((severity) => severity === text) ?? invalidHeader(name, key, `is none of ${SEVERITIES.join(', ')}`)
  );
}

function invalidHeader(name: string, key: string, what: string): never {
  throw new TidemarkError('DATA', `queries/findings/${name}.sql: the line \`-- ${key}: …\` of its head ${what}`);
}

/** The severities at or above one. */
export function atOrAbove(severity: Severity): readonly Severity[] {
  return SEVERITIES.slice(SEVERITIES.indexOf(severity));
}
