import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config, Target } from '../config/config.ts';
import { DAY_MS } from '../core/clock.ts';
import { TidemarkError } from '../core/errors.ts';
import { version } from '../core/paths.ts';
import {
  digestItem,
  type LandedObject,
  type LandedObjects,
  type ObjectTag,
  openLandedObjects,
} from '../landing/objects.ts';
import { findManifest, landingDirectory, type ReadState, targetFingerprint } from '../landing/store.ts';
import type { LandingWriter } from '../landing/writer.ts';
import type { ServiceResponse } from '../services/response.ts';
import { tablesForSource } from '../warehouse/tables.ts';
import { type ActivePull, isLoaded, type PullStatus, type RunContext } from './run-context.ts';
import type { ListedObject, ObjectList, ObjectReader, ObjectRequest } from './sources/source.ts';

/** The last pull of a source. */
interface LastPull {
  readonly status: string;
  readonly extractedAt: Date | undefined;
}

/** What all pulls of a run share. */
export interface ReuseTools {
  /** By `TARGET/SOURCE`. */
  readonly lastPulls: Promise<ReadonlyMap<string, LastPull>>;
  /** Digests of the plugins' files. */
  readonly plugins: Promise<readonly string[]>;
}

/** Begins to read what the pulls of a run need. */
export function prepareReuse(run: RunContext): ReuseTools {
  const lastPulls = run.writes(() => readLastPulls(run));
  const plugins = digestPlugins(run.config);
  for (const promise of [lastPulls, plugins]) promise.catch(() => undefined); // a pull that needs it fails with it
  return { lastPulls, plugins };
}

async function readLastPulls({ warehouse: { database, files }, config, asOf }: RunContext) {
  const since = new Date(asOf.getTime() - (config.fullReadDays + 1) * DAY_MS).toISOString();
  const rows = await database.rows(files.read('warehouse/last_pulls'), { since });
  return new Map(
    rows.map(({ target, source, status, extracted_at }): [string, LastPull] => [
      `${target}/${source}`,
      { status: String(status), extractedAt: extracted_at === null ? undefined : new Date(String(extracted_at)) },
    ]),
  );
}

function digestPlugins({ plugins }: Config): Promise<readonly string[]> {
  return Promise.all(
    plugins.map(async (file) =>
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
    ),
  );
}

/** The landing of the last pull. */
interface Previous {
  readonly objects: LandedObjects;
  readonly reads: ReadState;
}

/**
 * Takes objects from the landing of the last pull where they are proven to be the same. `explainFullRead`, `isIndexLower` and
 * the digest of the whole list item decide: docs/decisions.md#objects-that-are-proven-unchanged-are-not-read-again. What is taken is what the service answered, so that the
 * new landing is complete, and loads without the network and without an earlier one.
 */
export class ObjectReuse {
  readonly #run: RunContext;
  readonly #pull: ActivePull;
  readonly #landing: LandingWriter;
  readonly #tools: ReuseTools | undefined;
  #previous: Promise<Previous | undefined> | undefined;
  readonly #indexes: Record<string, string> = {};
  #isFullRead = true;

  /** @param tools undefined to read every object */
  constructor(run: RunContext, pull: ActivePull, landing: LandingWriter, tools: ReuseTools | undefined) {
    this.#run = run;
    this.#pull = pull;
    this.#landing = landing;
    this.#tools = tools;
  }

  async objects(list: ObjectList): Promise<ObjectReader> {
    const fields = [this.#pull.source.unchanged?.list ?? []].flat();
    const tags = new Map(list.objects.map((object) => [object.key, this.#tag(list.name, object, fields)]));
    if (list.index !== undefined) this.#indexes[list.name] = list.index;
    this.#previous ??= this.#open();
    const previous = await this.#previous;
    const known = previous && this.#compareIndex(previous, list, tags) ? previous : undefined;
    if (known) this.#isFullRead = false;
    return { land: (key, request) => this.#land(tags.get(key) ?? { list: list.name, key }, request, known) };
  }

  /** Writes to the manifest how the objects were read, and closes the earlier landing. */
  async end(): Promise<void> {
    if (this.#previous === undefined) return; // the source reads no objects
    const previous = await this.#previous.catch(() => undefined);
    await previous?.objects.close();
    const { asOf } = this.#run;
    const { target, metrics } = this.#pull;
    this.#landing.setReads({
      reader: await this.#digestReader(),
      token: digestToken(target, randomBytes(8).toString('hex')),
      full_read_at: previous && !this.#isFullRead ? previous.reads.full_read_at : asOf.toISOString(),
      indexes: this.#indexes,
      reused: metrics.reused,
    });
  }

  /** How the list shows an object; without proof if it has not all fields, or may change without them. */
  #tag(list: string, { key, item, parts = [] }: ListedObject, fields: readonly string[]): ObjectTag {
    const values = fields.map((field) => (item as Readonly<Record<string, unknown>> | null)?.[field]);
    const isComplete =
      values.length > 0 && [...values, ...parts].every((value) => value !== undefined && value !== null);
    if (!isComplete || this.#pull.source.unchanged?.unless?.(item)) return { list, key };
    return { list, key, item: digestItem([item, ...parts]), index: values.map(String) };
  }

  async #land(
    tag: ObjectTag,
    { fields, derive, read, check }: ObjectRequest,
    previous: Previous | undefined,
  ): Promise<void> {
    const known = previous?.objects.find(tag);
    const copy = async (landed: LandedObject, { objects }: Previous) => {
      await this.#landing.copyLine(await objects.readLine(landed));
      this.#pull.metrics.reused++;
    };
    if (previous && known && tag.item !== undefined && tag.item === known.tag.item) return copy(known, previous);
    const response = await read(known ? { conditions: known.tag } : {});
    if (previous && known && response.status === 304) return copy(known, previous);
    check?.(response);
    const line = { ...fields, ...derive?.(response) };
    await this.#landing.writeObject({ ...tag, ...readValidators(response) }, line, response.text);
  }

  /** The landing of the last pull, if that was loaded; undefined where nothing may be taken from it, or it was changed. */
  async #open(): Promise<Previous | undefined> {
    try {
      return await this.#openLast();
    } catch (error) {
      if (!(error instanceof TidemarkError)) throw error;
      this.#landing.addNote(`every object was read: ${error.message}`);
      return undefined;
    }
  }

  async #openLast(): Promise<Previous | undefined> {
    const { target, source } = this.#pull;
    const last = (await this.#tools?.lastPulls)?.get(`${target.name}/${source.name}`);
    if (!last?.extractedAt || !isLoaded(last.status as PullStatus)) return undefined;
    const names = { target: target.name, source: source.name };
    const manifest = await findManifest(this.#run.config, names, last.extractedAt);
    const reads = manifest?.reads;
    const file = manifest?.files.find(({ format }) => format === 'ndjson');
    if (!manifest || !reads || !file) return undefined;
    const reason = await this.#explainFullRead(reads);
    if (reason !== undefined) {
      this.#run.log.info(`${target.name}: ${source.name}: every object is read: ${reason}`);
      return undefined;
    }
    const directory = landingDirectory(this.#run.config, manifest.run_id, manifest.target);
    return { objects: await openLandedObjects(directory, file), reads };
  }

  /** Why nothing of a landing may be taken; undefined if its objects may be compared. */
  async #explainFullRead(reads: ReadState): Promise<string | undefined> {
    const { config, asOf } = this.#run;
    // Rounded, so that a night which begins a second earlier than a week ago counts.
    const days = Math.round((asOf.getTime() - Date.parse(reads.full_read_at)) / DAY_MS);
    if (!(days >= 0 && days < config.fullReadDays))
      return `the last full read was on ${reads.full_read_at.slice(0, 10)}`;
    if (reads.reader !== (await this.#digestReader())) return 'another service, flavor, version or table';
    if (reads.token !== digestToken(this.#pull.target, reads.token.split(':')[0] ?? '')) return 'another token';
    return undefined;
  }

  /** Everything but the token that decides what a read returns, and what is kept of it. */
  async #digestReader(): Promise<string> {
    const { target, source } = this.#pull;
    return digestItem({
      service: targetFingerprint(target),
      flavor: target.flavor,
      header: target.tokenHeader,
      version,
      plugins: (await this.#tools?.plugins) ?? (await digestPlugins(this.#run.config)),
      source: String(source.extract),
      unchanged: [source.unchanged?.list ?? []].flat(),
      tables: tablesForSource(source.name, this.#run.warehouse.tables).map(({ ddl }) => ddl),
    });
  }

  /** Whether the service is at least where it was. @returns false for a server that was restored */
  #compareIndex({ objects, reads }: Previous, list: ObjectList, tags: ReadonlyMap<string, ObjectTag>): boolean {
    const before = reads.indexes[list.name];
    const isUnknown = (before === undefined) !== (list.index === undefined);
    const lower = [...tags.values()].find((tag) => isIndexLower(tag.index, objects.find(tag)?.tag.index));
    const isLower = isIndexLower(list.index === undefined ? [] : [list.index], before === undefined ? [] : [before]);
    if (isUnknown || isLower || lower) {
      const what = isUnknown ? 'has an index now and not before, or before and not now' : 'is lower than before';
      this.#landing.addNote(`every object was read: the index of the ${list.name} ${what}`);
      return false;
    }
    return true;
  }
}

/** Whether a number is lower than before, as after the restoration of a server. */
function isIndexLower(now: readonly string[] = [], before: readonly string[] = []): boolean {
  const isNumber = (text: string | undefined) => text !== undefined && /^\d{1,20}$/u.test(text);
  return now.some((value, place) => {
    const earlier = before[place];
    return isNumber(value) && isNumber(earlier) && BigInt(value) < BigInt(earlier as string);
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
  return { ...(etag && { etag }), ...(modified && { modified }) };
}

/** 32 bits show another token, and are too few to find a token by. */
function digestToken({ token = '' }: Target, salt: string): string {
  return `${salt}:${createHash('sha256').update(`${salt} ${token}`).digest('hex').slice(0, 8)}`;
}
