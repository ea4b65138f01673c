import { Option } from 'commander';
import type { ExportFlags } from '../export.ts';
import { addExamples, type DefineCommand } from './define.ts';

export const defineExport: DefineCommand = (program, context) =>
  addExamples(
    program
      .command('export')
      .summary('export the warehouse as Parquet')
      .description('export the warehouse with its history as Parquet: DIR/TABLE/data.parquet and DIR/manifest.json')
      .addOption(new Option('--format <format>', 'file format').choices(['parquet']).default('parquet'))
      .requiredOption('--out <dir>', 'folder; existing table folders in it are replaced')
      .action(async (flags: ExportFlags) => (await import('../export.ts')).runExport(context(), flags)),
    ['tidemark export --out lake', 'write one Parquet file for each table into ./lake'],
  );
