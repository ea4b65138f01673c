import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { digestJson } from '../core/canonical-json.ts';
import { DAY_MS } from '../core/clock.ts';
import { catchKnown, TidemarkError } from '../core/errors.ts';
import { ignoreMissing } from '../core/fs.ts';
import { valueAt } from '../core/json-path.ts';
import { version } from '../core/paths.ts';
import { sha256 } from '../core/sha256.ts';
import { type LandedObjects, type ObjectTag, openLandedObjects } from '../landing/objects.ts';
import { findManifest, landingDirectory, type ReadState, targetFingerprint } from '../landing/store.ts';
import type { LandingWriter } from '../landing/writer.ts';
import type { ServiceResponse } from '../services/response.ts';
import { tablesForSource } from '../warehouse/tables.ts';
import type { Extraction, RunContext } from './run-context.ts';
import type { ListedObject, ObjectList, ObjectReader, ObjectRequest, SourceDefinition } from './sources/source.ts';

/** Its state would stay: the list of the next pull shows no change. */
const PAST = { hint: 'check what is behind `url` of this target: a server or a cache shows an earlier state' };

/** The landing of the last pull that loaded its rows. */
type Previous = Readonly<NonNullable<Awaited<ReturnType<typeof openLast>>>>;

/**
 * Takes objects from the landing of the last loaded pull where they are proven to be the same. `isFullReadDue`, `isIndexLower` and
 * the digest of the whole list item decide: docs/decisions.md#objects-that-are-proven-unchanged-are-not-read-again. What is taken is what the service answered, so that the
 * new landing is complete, and loads without the network and without an earlier one.
 */
export function createObjectReuse(task: Extraction, landing: LandingWriter) {
  const { run, pull } = task;
  const { metrics, source } = pull;
  const indexes: Record<string, string> = {};
  let opened: ReturnType<typeof open> | undefined;
  let isFullRead = true;
  const open = async () => {
    const reader = await digestReader(task);
    return { reader, previous: task.canReuse ? await openLast(task, landing, reader) : undefined };
  };

  const land = async (tag: ObjectTag, request: ObjectRequest, objects: LandedObjects | undefined): Promise<void> => {
    const known = objects?.find(tag);
    const isListed = known !== undefined && tag.item !== undefined && tag.item === known.tag.item;
    const response = isListed ? undefined : await request.read(known ? { conditions: known.tag } : {});
    if (objects && known && (!response || response.status === 304)) {
      await landing.copyLine(await objects.readLine(known));
      metrics.reused++;
    } else if (response) {
      await request.check?.(response); // that of a plugin runs in its thread
      if (tag.index && isIndexLower(readIndex(response.json(), source), tag.index))
        throw new TidemarkError('DATA', `${tag.list}: the answer for ${tag.key} is older than the list`, PAST);
      const fields = { ...request.fields, ...(await request.derive?.(response)) };
      await landing.writeJson(fields, response.text, { ...tag, ...readValidators(response) });
    }
  };

  return {
    async objects(list: ObjectList): Promise<ObjectReader> {
      const tags = new Map(list.objects.map((object) => [object.key, createTag(list.name, object, source)]));
      if (list.index !== undefined) indexes[list.name] = list.index;
      opened ??= open();
      const { previous } = await opened;
      const problem = previous && compareIndex(previous, list, [...tags.values()]);
      // The next attempt, which compares nothing, tells a server that was restored from a list of the past.
      if (problem !== undefined) throw new TidemarkError('DATA', `the index of the ${list.name} ${problem}`, PAST);
      const known = previous?.isDue ? undefined : previous?.objects;
      if (known) isFullRead = false;
      return { land: (key, request) => land(tags.get(key) ?? { list: list.name, key }, request, known) };
    },

    /** Closes the earlier landing. @returns how the objects were read; undefined where the source reads none */
    async end(): Promise<ReadState | undefined> {
      const state = await opened?.catch(() => undefined);
      if (!state) return undefined;
      const { reader, previous } = state;
      await previous?.objects.close();
      const fullReadAt = previous && !isFullRead ? previous.reads.full_read_at : run.asOf.toISOString();
      return { reader, full_read_at: fullReadAt, indexes };
    },
  };
}

/** How the list shows an object; without proof if it has not all fields, or may change without them. */
function createTag(list: string, { key, item, parts = [] }: ListedObject, source: SourceDefinition): ObjectTag {
  const index = readIndex(item, source);
  const isProof = index.length > 0 && [...index, ...parts].every((value) => value !== undefined && value !== null);
  const tag = { list, key, ...(index.length > 0 && { index: index.map(String) }) };
  return isProof && !source.unchanged?.unless?.(item) ? { ...tag, item: digestJson([item, ...parts]) } : tag;
}

function readIndex(object: unknown, { unchanged }: SourceDefinition): readonly unknown[] {
  return [unchanged?.list ?? []].flat().map((field) => valueAt(object, field));
}

/** The landing of the last pull that loaded its rows; undefined where nothing may be taken from it, or it was changed. */
async function openLast({ run, pull }: Extraction, landing: LandingWriter, reader: string) {
  const { config, warehouse, writes, log } = run;
  const names = { target: pull.target.name, source: pull.source.name };
  const [last] = await writes(async () => warehouse.database.rows(warehouse.files.read('warehouse/last_pull'), names));
  if (!last?.extracted_at) return undefined;
  const manifest = await findManifest(config, names, new Date(String(last.extracted_at)));
  const file = manifest?.files.find(({ format }) => format === 'ndjson');
  if (!manifest?.reads || !file) return undefined;
  const { reads } = manifest;
  const isSame = reads.reader === reader;
  const isDue = last.is_broken === true || isFullReadDue(run, reads);
  if (!isSame || isDue) {
    const due = last.is_broken
      ? 'the last pull loaded nothing'
      : `the last full read was on ${reads.full_read_at.slice(0, 10)}`;
    const reason = isSame ? due : 'another service, flavor, token, version or table';
    log.info(`${names.target}: ${names.source}: every object is read: ${reason}`);
  }
  if (!isSame) return undefined;
  try {
    const directory = landingDirectory(config, manifest.run_id, manifest.target);
    // A full read compares the indexes: a list of the past is none of the present.
    return { objects: await openLandedObjects(directory, file), reads, isDue };
  } catch (error) {
    landing.addNote(`every object was read: ${catchKnown(error).message}`);
    return undefined;
  }
}

function isFullReadDue({ asOf, config }: RunContext, { full_read_at }: ReadState): boolean {
  // Rounded, so that a night which begins a second earlier than a week ago counts.
  const days = Math.round((asOf.getTime() - Date.parse(full_read_at)) / DAY_MS);
  return !(days >= 0 && days < config.fullReadDays);
}

/** Everything that decides what a read returns, and what is kept of it. Another service may have objects that look the same in its list. */
async function digestReader({ run, pull, identify }: Extraction): Promise<string> {
  const { config, warehouse } = run;
  const { target, source } = pull;
  return digestJson({
    installation: await identify(),
    service: targetFingerprint(target),
    version,
    plugins: await digestPlugins(config.plugins),
    source: String(source.extract),
    unchanged: [source.unchanged?.list ?? []].flat(),
    tables: tablesForSource(source.name, warehouse.tables).map(({ ddl }) => ddl),
  });
}

/** A name in an import or a `require` that is a file of the plugin. */
const OWN_FILE = /\b(?:from|import|require)\s*\(?\s*['"`](\.[^'"`]*)['"`]/gu;

/** Digests of the plugins, with the files of their own that they import. One that is not found may be anything. */
async function digestPlugins(plugins: readonly string[]): Promise<readonly string[]> {
  const files = new Set(plugins);
  const digests: string[] = [];
  // those that are added meanwhile as well
  for (const file of files) {
    const text = (await readFile(file, 'utf8').catch(ignoreMissing)) ?? randomUUID();
    digests.push(sha256(text));
    for (const [, name = ''] of text.matchAll(OWN_FILE)) files.add(join(dirname(file), name));
  }
  return digests;
}

/** Whether the service is at least where it was. @returns what is wrong, as after the restoration of a server */
function compareIndex({ objects, reads }: Previous, list: ObjectList, tags: readonly ObjectTag[]): string | undefined {
  const before = reads.indexes[list.name];
  if ((before === undefined) !== (list.index === undefined))
    return 'has an index now and not before, or before and not now';
  const isObjectLower = (tag: ObjectTag) => isIndexLower(tag.index, objects.find(tag)?.tag.index);
  const isLower = isIndexLower([list.index], [before]) || tags.some(isObjectLower);
  return isLower ? 'is lower than before' : undefined;
}

function isIndexLower(now: readonly unknown[] = [], before: readonly unknown[] = []): boolean {
  const toNumber = (value: unknown) => (/^\d{1,20}$/u.test(String(value)) ? BigInt(String(value)) : undefined);
  return now.some((value, place) => {
    const [number, earlier] = [toNumber(value), toNumber(before[place])];
    return number !== undefined && earlier !== undefined && number < earlier;
  });
}

/** A longer validator is not one that a service compares. */
const MAX_VALIDATOR_LENGTH = 512;

function readValidators({ headers }: ServiceResponse): Pick<ObjectTag, 'etag' | 'modified'> {
  const read = (name: string) => {
    const value = headers.get(name);
    return value !== null && value.length <= MAX_VALIDATOR_LENGTH ? value : undefined;
  };
  const [etag, modified] = [read('etag'), read('last-modified')];
  // What changes again within the second has the same time (RFC 9110 §8.8.2.2).
  const isProof = Date.parse(headers.get('date') ?? '') - Date.parse(modified ?? '') >= 1000;
  return { ...(etag && { etag }), ...(modified && isProof && { modified }) };
}
