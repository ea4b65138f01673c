import { type Command, Option } from 'commander';
import { ENGINES } from '../../core/choices.ts';
import type { Context } from '../../core/context.ts';
import type { CloseFlags, DdlFlags, LakeFlags, PublishFlags, VacuumFlags } from '../lake.ts';
import { addExamples, type DefineCommand, positiveNumber, wholeNumber } from './define.ts';

export const defineLake: DefineCommand = (program, context) => {
  const lake = program
    .command('lake')
    .description('publish the warehouse as Delta tables that Spark, Trino, ClickHouse and DuckDB read');
  definePublish(lake, context);
  defineClose(lake, context);
  defineVerify(lake, context);
  defineRestore(lake, context);
  defineDdl(lake, context);
  defineVacuum(lake, context);
  return addExamples(
    lake,
    ['tidemark lake publish --lake /srv/lake', 'publish what has changed since the last publish'],
    ['tidemark lake ddl --engine clickhouse --lake /srv/lake', 'print the tables and views for ClickHouse'],
  );
};

const addFolder = (command: Command): Command =>
  command.option('--lake <place>', 'folder or s3://BUCKET/PREFIX of the lake; by default `lake` of the configuration');

function definePublish(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(lake.command('publish').description('append what the published warehouse has and the lake does not'))
      .addOption(runOption())
      .action(async (flags: PublishFlags) => (await import('../lake.ts')).publish(context(), flags)),
    ['tidemark lake publish', 'publish to the folder that the configuration names'],
  );
}

const runOption = (): Option =>
  new Option('--run <name>', 'run that a shard is a part of (TIDEMARK_RUN); by default the date in UTC');

function defineClose(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(lake.command('close').description('make what all shards of a run have published visible, in one commit'))
      .addOption(new Option('--shards <n>', 'number of shards').argParser(positiveNumber).makeOptionMandatory())
      .addOption(runOption())
      .option('--wait <seconds>', 'wait so long for shards that have not published', wholeNumber, 0)
      .option('--accept-shrink', 'also close shards whose targets lost more rows than `shrinkPercent`')
      .action(async (flags: CloseFlags) => (await import('../lake.ts')).close(context(), flags)),
    ['tidemark lake close --shards 16 --wait 7200', 'close the run of today; exit 1 if a shard is missing'],
  );
}

function defineVerify(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(
      lake.command('verify').description('compare every file of the lake with its size, checksum and number of rows'),
    ).action(async (flags: LakeFlags) => (await import('../lake.ts')).verify(context(), flags)),
    ['tidemark lake verify', 'exit 4 if a file is missing or damaged'],
  );
}

function defineRestore(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(
      lake.command('restore').description('make the warehouse out of the lake, where there is none yet'),
    ).action(async (flags: LakeFlags) => (await import('../lake.ts')).restore(context(), flags)),
    ['tidemark lake restore', 'make data/warehouse.duckdb with every table of the last publish'],
  );
}

function defineDdl(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(lake.command('ddl').description('print the statements that create the tables and views of an engine'))
      .addOption(new Option('--engine <engine>', 'engine').choices([...ENGINES]).makeOptionMandatory())
      .option('--location <url>', 'where the engine finds the lake; by default its folder or bucket')
      .option('--schema <name>', 'what is internal is in the schema NAME_internal', 'tidemark')
      .action(async (flags: DdlFlags) => (await import('../lake.ts')).ddl(context(), flags)),
    ['tidemark lake ddl --engine spark --location s3a://lake/tidemark', 'print the statements for Spark'],
  );
}

function defineVacuum(lake: Command, context: () => Context): void {
  addExamples(
    addFolder(
      lake.command('vacuum').description('remove the files that no commit names, such as those of a killed publish'),
    )
      .option(
        '--older-than <hours>',
        'age in hours; younger files may belong to a publish in progress',
        wholeNumber,
        24,
      )
      .option('--dry-run', 'list the files only')
      .action(async (flags: VacuumFlags) => (await import('../lake.ts')).vacuum(context(), flags)),
    ['tidemark lake vacuum --dry-run', 'list what would be removed'],
  );
}
