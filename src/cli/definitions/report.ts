import type { ReportFlags } from '../report.ts';
import { addExamples, type DefineCommand, MOMENT } from './define.ts';

export const defineReport: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('report')
      .description('render reports')
      .argument('[name...]', 'reports; all by default')
      .option('--as-of <moment>', `time of the data: ${MOMENT}; the last pull by default`)
      .option('--lake <place>', 'lake that `report fleet` reads; by default `lake` of the configuration')
      .option('--out <dir>', 'output folder; `output` of the configuration by default')
      .action(async (names: readonly string[], flags: ReportFlags) =>
        names.includes('fleet')
          ? (await import('../report-fleet.ts')).reportFleet(context(), names, flags)
          : (await import('../report.ts')).report(context(), names, flags),
      ),
    ['tidemark report', 'render all reports'],
    ['tidemark report drift agent-health --out site', 'render two reports into a folder'],
    ['tidemark report drift --as-of 2026-11-01', 'render a report of an earlier day'],
    ['tidemark report fleet --lake s3://estate/lake', 'render the report of a whole lake'],
  );
