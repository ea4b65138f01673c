import type { Flavor } from '../../sandbox/types.ts';
import { type ClientResult, explain } from './reasons.ts';

/** The results of the clients of one language with one flavor. */
export interface RunResults {
  readonly flavor: Flavor;
  readonly results: readonly ClientResult[];
}

const HEADER = `# Clients of the real products and the sandbox

\`npm run test:clients\` writes this page. It runs clients of the vendors and of their users against \`tidemark sandbox\`. An operation
is right when the client accepts the answer and it has what the sandbox holds. With \`flavor: hashicorp\` the sandbox is meant to
serve them. With the flavor \`spec\` it keeps to the API documents, which differ from the products in headers, paths and bodies:
\`test/clients/reasons.ts\` has the reason of each refusal.
`;

export function formatDocument(runs: readonly RunResults[], versions: Readonly<Record<string, string>>): string {
  const resultsOf = (flavor: Flavor) => runs.filter((run) => run.flavor === flavor).flatMap((run) => run.results);
  const [real, spec] = [resultsOf('hashicorp'), resultsOf('spec')];
  return [HEADER, formatTotals(real, spec, versions), formatWrong(real)].join('\n');
}

function formatTotals(
  real: readonly ClientResult[],
  spec: readonly ClientResult[],
  versions: Readonly<Record<string, string>>,
): string {
  const clients = [...new Set(real.map(({ client }) => client))];
  const rows = clients.map((client) => {
    const [tried, right] = countOf(real, client);
    return `| ${client} | ${shortVersion(versions[client])} | ${tried} | ${right} | ${countOf(spec, client)[1]} |\n`;
  });
  return `| Client | Version | Operations tried | Right | Right with the flavor \`spec\` |\n|---|---|---|---|---|\n${rows.join('')}`;
}

function countOf(results: readonly ClientResult[], name: string): readonly [tried: number, right: number] {
  const own = results.filter(({ client }) => client === name);
  return [own.length, own.filter(({ error }) => error === null).length];
}

function shortVersion(version = ''): string {
  return version.replace(/^0\.0\.0-(\d{8}).*$/, 'of $1');
}

/** What the sandbox refuses although it is meant to serve it. */
function formatWrong(results: readonly ClientResult[]): string {
  const wrong = results.filter(({ error }) => error !== null);
  return wrong
    .map((result) => {
      const why = explain('hashicorp', result) ?? `**unexplained**: ${result.error}`;
      return `Wrong: \`${result.operation}\` of ${result.client}. ${why}.\n`;
    })
    .join('\n');
}
