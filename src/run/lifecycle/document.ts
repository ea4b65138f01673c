import { z } from 'zod';
import { DAY_MS } from '../../core/clock.ts';
import { TidemarkError } from '../../core/errors.ts';

/** A day is `2026-04-29`. */
const day = z.iso.date().nullable();
const product = z.string().regex(/^[a-z0-9][a-z0-9.-]{0,59}$/u, 'must be a name such as terraform');
const version = z.string().regex(/^[\w.+~-]{1,60}$/u, 'must be a version such as 1.13');

/** The form of `queries/lifecycle/products.json`. */
const packaged = z
  .object({
    data_as_of: z.iso.date(),
    releases: z
      .array(
        z.object({
          product,
          cycle: version,
          released_at: day,
          support_ends: day,
          /** Whether support has ended: also on a day that the source does not name. */
          ended: z.boolean(),
          /** The cycle whose release ends the support. */
          ends_with: version.nullable(),
          latest: version.nullable(),
          latest_at: day,
        }),
      )
      .min(1),
  })
  .transform(({ data_as_of, releases }) =>
    releases.map(({ support_ends, ended, ...release }) => ({
      ...release,
      support_ends_at: support_ends,
      ended: ended && support_ends === null,
      data_as_of,
    })),
  );

/** What a source knows of one cycle of a product. `ended`: support has ended, and `support_ends_at` is not known. */
export type Fact = Readonly<z.output<typeof packaged>[number]>;

/** An answer to `/api/v1/products/NAME` of endoflife.date (https://endoflife.date/docs/api/v1/). */
const answered = z
  .object({
    schema_version: z.string().regex(/^1\./u, 'must be 1.x'),
    generated_at: z.iso.datetime({ offset: true }),
    result: z.object({
      name: product,
      releases: z
        .array(
          z.object({
            name: version,
            releaseDate: day,
            isEol: z.boolean(),
            eolFrom: day.default(null),
            latest: z.object({ name: version, date: day.optional() }).nullable().optional(),
          }),
        )
        .min(1),
    }),
  })
  .transform(({ generated_at, result }): readonly Fact[] =>
    result.releases.map(({ name, releaseDate, isEol, eolFrom, latest }) => ({
      product: result.name,
      cycle: name,
      released_at: releaseDate,
      support_ends_at: eolFrom,
      ended: isEol && eolFrom === null,
      ends_with: null,
      latest: latest?.name ?? null,
      latest_at: latest?.date ?? null,
      data_as_of: new Date(generated_at).toISOString().slice(0, 10),
    })),
  );

const HINT = 'give a document as queries/lifecycle/products.json, or as endoflife.date/api/v1/products/NAME answers';

/**
 * The facts of a document in either form.
 * @param what it is, for the error, such as its file
 * @throws TidemarkError DATA if it is not such a document, or of a day that is still to come.
 */
export function parseFacts(text: string, what: string, now: Date): readonly Fact[] {
  const document = parseJson(text, what);
  const isAnswer = typeof document === 'object' && document !== null && 'schema_version' in document;
  const { data: found, error } = (isAnswer ? answered : packaged).safeParse(document);
  if (!found) {
    const [issue] = error.issues;
    const where = issue?.path.join('.') || 'the document';
    throw new TidemarkError('DATA', `${what}: ${where}: ${issue?.message}`, { hint: HINT });
  }
  const [first] = found;
  // A clock may be a day ahead of the other one.
  if (first && Date.parse(first.data_as_of) > now.getTime() + DAY_MS) {
    throw new TidemarkError('DATA', `${what}: its facts are of ${first.data_as_of}, which is still to come`);
  }
  const names = found.map(({ product: name, cycle }) => `${name} ${cycle}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new TidemarkError('DATA', `${what}: ${twice} is there twice`);
  return found;
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new TidemarkError('DATA', `${what} is not JSON`, { cause, hint: HINT });
  }
}
