import { stat } from 'node:fs/promises';
import { TidemarkError } from '../../core/errors.ts';
import { escapeXml } from '../../core/escape-xml.ts';
import { createFileBody, createTextBody } from './body.ts';
import { readBounded, type S3Client, type S3Request, type S3Response } from './client.ts';
import { findElement } from './xml.ts';

export interface PartSizes {
  /** A larger file is sent in parts. */
  readonly singleBytes: number;
  /** The least that S3 takes is 5 MiB. */
  readonly partBytes: number;
}

export const DEFAULT_PARTS: PartSizes = { singleBytes: 64 * 1024 ** 2, partBytes: 32 * 1024 ** 2 };

/** S3 takes 10,000 parts. */
const MAX_PARTS = 9_000;
const MAX_ANSWER_BYTES = 1024 ** 2;

/** Writes a local file to an object, or replaces it as a whole. It is read in pieces, and sent in parts if it is large. */
export async function uploadFile(client: S3Client, key: string, file: string, sizes: PartSizes): Promise<void> {
  const { size } = await stat(file);
  if (size > sizes.singleBytes) return uploadParts(client, key, file, { size, partBytes: sizes.partBytes });
  await client.send({ method: 'PUT', key, body: await createFileBody(file, 0, size) }, discard);
}

interface FileParts {
  readonly size: number;
  readonly partBytes: number;
}

/** Sends the parts of a file, and puts them together at the end. */
export async function uploadParts(client: S3Client, key: string, file: string, parts: FileParts): Promise<void> {
  const begun = await client.send({ method: 'POST', key, query: { uploads: '' } }, readAnswer);
  const uploadId = findElement(begun, 'UploadId');
  if (!uploadId) {
    throw new TidemarkError('REFUSED', `${key}: the object store began no upload in parts`, {
      hint: 'check AWS_ENDPOINT_URL: a proxy or another service may answer there',
    });
  }
  try {
    const tags = await sendParts(client, { key, uploadId, file, ...parts });
    await completeUpload(client, { method: 'POST', key, query: { uploadId } }, tags);
  } catch (error) {
    // What stays of the parts costs money and is listed nowhere. The first error is the one to show.
    await client.send({ method: 'DELETE', key, query: { uploadId } }, discard).catch(() => undefined);
    throw error;
  }
}

interface Upload extends FileParts {
  readonly key: string;
  readonly uploadId: string;
  readonly file: string;
}

/** @returns the tag that the store has given each part */
async function sendParts(
  client: S3Client,
  { key, uploadId, file, size, partBytes }: Upload,
): Promise<readonly string[]> {
  const step = Math.max(partBytes, Math.ceil(size / MAX_PARTS));
  const tags: string[] = [];
  for (let start = 0; start < size; start += step) {
    const body = await createFileBody(file, start, Math.min(size, start + step));
    const query = { partNumber: String(tags.length + 1), uploadId };
    tags.push(
      await client.send({ method: 'PUT', key, query, body }, async (response) => {
        await discard(response);
        return String(response.headers.etag ?? '');
      }),
    );
  }
  return tags;
}

async function completeUpload(client: S3Client, request: S3Request, tags: readonly string[]): Promise<void> {
  const parts = tags.map(
    (tag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`,
  );
  const text = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
  const answer = await client.send({ ...request, body: createTextBody(text) }, readAnswer);
  // A store begins this response before it knows the result.
  const [code] = /^[A-Za-z0-9.]{1,60}$/u.exec(findElement(answer, 'Code') ?? '') ?? [];
  if (code === undefined) return;
  throw new TidemarkError('REFUSED', `${request.key}: the object store did not put the parts together: ${code}`, {
    hint: 'try again',
  });
}

export const readAnswer = (response: S3Response): Promise<string> => readBounded(response, MAX_ANSWER_BYTES);

/** Reads a body to its end, so that its connection serves the next request. */
export async function discard(response: S3Response): Promise<void> {
  await response.body.dump();
}
