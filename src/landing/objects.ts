import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FILE } from '../core/fs.ts';
import { tryParseJson } from '../core/json.ts';
import { type LandingFile, readLanded } from './store.ts';

/** The name of the tag in a line. No field of a service begins with an underscore and has this name. */
export const TAG_FIELD = '_object';

/** Identifies an object of a list in its lines of a landing, and says in which state it was read. */
export interface ObjectTag {
  readonly list: string;
  readonly key: string;
  /** `digestJson` of the list's item; absent where the list does not prove the state of the object. */
  readonly item?: string;
  /** Values of the fields that rise with every change, as decimal digits or text. */
  readonly index?: readonly string[];
  readonly etag?: string;
  /** `Last-Modified` of the response. */
  readonly modified?: string;
}

interface LandedObject {
  readonly tag: ObjectTag;
  /** Where its line is, in bytes. */
  readonly start: number;
  readonly length: number;
}

const LINE_BREAK = 10;

/** The objects of an earlier landing. Only their tags and positions are in memory. */
export type LandedObjects = Awaited<ReturnType<typeof openLandedObjects>>;

/**
 * Opens a file of a landing, whose content is in a file beside it until `close`.
 * @throws TidemarkError DATA if the file is missing, or was changed
 */
export async function openLandedObjects(directory: string, landed: LandingFile) {
  const path = join(directory, `${landed.file}.content`);
  const content = await open(path, 'w+', PRIVATE_FILE);
  const close = async (): Promise<void> => {
    await content.close();
    await rm(path, { force: true });
  };
  const objects = new Map<string, LandedObject>();
  try {
    let start = 0;
    let rest: Buffer = Buffer.alloc(0);
    for await (const chunk of readLanded(directory, landed)) {
      await content.appendFile(chunk);
      const bytes = Buffer.concat([rest, chunk]);
      let from = 0;
      for (let end = bytes.indexOf(LINE_BREAK); end >= 0; end = bytes.indexOf(LINE_BREAK, from)) {
        const tag = readTag(bytes.toString('utf8', from, end));
        if (tag !== undefined) objects.set(objectName(tag), { tag, start: start + from, length: end - from });
        from = end + 1;
      }
      start += from;
      rest = bytes.subarray(from);
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    find: (object: Pick<ObjectTag, 'list' | 'key'>): LandedObject | undefined => objects.get(objectName(object)),
    /** The line of an object, with its line break. */
    readLine: async ({ start, length }: LandedObject): Promise<string> => {
      const { buffer } = await content.read(Buffer.alloc(length), 0, length, start);
      return `${buffer.toString('utf8')}\n`;
    },
    close,
  };
}

function objectName({ list, key }: Pick<ObjectTag, 'list' | 'key'>): string {
  return JSON.stringify([list, key]);
}

/** The tag of a line; undefined for a line that no object has, or that was masked until it was no JSON. */
function readTag(line: string): ObjectTag | undefined {
  const parsed = line.startsWith(`{"${TAG_FIELD}":`) ? tryParseJson(line) : undefined;
  return (parsed as Readonly<Record<string, ObjectTag>> | undefined)?.[TAG_FIELD];
}
