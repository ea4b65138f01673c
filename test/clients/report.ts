import type { Flavor } from '../../sandbox/types.ts';
import { type ClientResult, explain } from './reasons.ts';

/** The results of the clients of one language with one flavor. */
export interface RunResults {
  readonly flavor: Flavor;
  readonly results: readonly ClientResult[];
}

const HEADER = `# Clients of the real products and the sandbox

\`npm run test:clients\` writes this page. It runs clients of the vendors and of their users against \`tidemark sandbox\` in both flavors. An operation is right
when the client accepts the answer and it has what the sandbox holds. With \`flavor: hashicorp\` the sandbox is meant to serve them; with the flavor \`spec\` it
keeps to the API documents, which differ from the products. There a check that something is refused is right for the wrong reason where all is refused.
`;

export function formatDocument(runs: readonly RunResults[], versions: Readonly<Record<string, string>>): string {
  const flavors = [...new Set(runs.map(({ flavor }) => flavor))];
  const sections = flavors.map((flavor) => {
    const results = runs.filter((run) => run.flavor === flavor).flatMap((run) => run.results);
    return `## Flavor \`${flavor}\`\n\n${formatTotals(results, versions)}\n${formatWrong(flavor, results)}`;
  });
  return `${[HEADER, ...sections].join('\n').trim()}\n`;
}

function formatTotals(results: readonly ClientResult[], versions: Readonly<Record<string, string>>): string {
  const clients = [...new Set(results.map(({ client }) => client))];
  const rows = clients.map((client) => {
    const own = results.filter((result) => result.client === client);
    const right = own.filter(({ error }) => error === null).length;
    return `| ${client} | ${shortVersion(versions[client])} | ${own.length} | ${right} | ${own.length - right} |\n`;
  });
  return `| Client | Version | Operations tried | Right | Wrong |\n|---|---|---|---|---|\n${rows.join('')}`;
}

function shortVersion(version = ''): string {
  return version.replace(/^0\.0\.0-(\d{8}).*$/, 'of $1');
}

function formatWrong(flavor: Flavor, results: readonly ClientResult[]): string {
  const operations = new Map<string, string[]>();
  for (const result of results.filter(({ error }) => error !== null)) {
    const key = `${result.client} | ${explain(flavor, result) ?? `**unexplained**: ${result.error}`}`;
    operations.set(key, [...(operations.get(key) ?? []), `\`${result.operation}\``]);
  }
  if (operations.size === 0) return '';
  const rows = [...operations].map(([key, names]) => {
    const [client, why] = key.split(' | ');
    return `| ${client} | ${names.join(', ')} | ${why} |\n`;
  });
  return `| Client | Wrong | Why |\n|---|---|---|\n${rows.join('')}`;
}
