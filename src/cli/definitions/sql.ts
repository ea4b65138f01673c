import { Option } from 'commander';
import { FORMATS } from '../../core/choices.ts';
import type { SqlFlags } from '../sql.ts';
import { addExamples, type DefineCommand, MOMENT, parseParam, positiveNumber, wholeNumber } from './define.ts';

export const defineSql: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('sql')
      .summary('run read-only SQL on the published warehouse')
      .description('run read-only SQL on the published warehouse; without QUERY or FILE, reads stdin')
      .argument('[words...]', 'one SELECT statement in quotes; with --saved, NAME=VALUE of its parameters')
      .option('-f, --file <file>', 'read the query from a file; - for stdin')
      .option('--saved <name>', 'run a saved query')
      .option('--list', 'list the saved queries')
      .option('--param <name=value>', 'value of $name in the query; repeatable', parseParam, {})
      .option('--as-of <moment>', `show every table as of ${MOMENT}`)
      .addOption(new Option('--format <format>', 'output format').choices([...FORMATS]))
      .option('-o, --output <file>', 'write the result to a file; its extension is the format')
      .option(
        '--max-rows <n>',
        'rows of a table: of more, the first and last; 0 for all (40 on a terminal)',
        wholeNumber,
      )
      .option('--timeout <seconds>', 'stop the query after this time (`sql.timeout`)', positiveNumber)
      .action(async (words: readonly string[], flags: SqlFlags) =>
        (await import('../sql.ts')).sql(context(), words, flags),
      ),
    ['tidemark sql "from workspaces where drifted"', 'list the drifted workspaces'],
    ['tidemark sql --saved idle-workspaces days=180', 'run a saved query with a parameter'],
    ['tidemark sql --as-of 2026-11-01 "select count(*) from agents"', 'ask for the state of an earlier day'],
    [
      `tidemark sql --param pool=blue 'from agents where pool_id = $pool' --format csv -o agents.csv`,
      'write the result of a query with a parameter to a file',
    ],
  );
