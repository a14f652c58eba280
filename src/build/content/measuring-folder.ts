// A content folder that stores nothing: it only measures what is added to it, so that a dry run can preview what a
// build would find.
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type AddOptions, type ContentFolder, mismatch, type StoredInput } from './content-folder.ts';

/** Finds what the real one has, without a check, and adds nothing to it. */
export function measuringFolder(real: ContentFolder): ContentFolder {
  async function measure(
    content: AsyncIterable<Uint8Array>,
    path: string,
    { expected, label }: AddOptions = {},
  ): Promise<StoredInput> {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for await (const part of content) {
      hash.update(part);
      sizeBytes += part.length;
    }
    const sha256 = hash.digest('hex');
    if (expected !== undefined && expected !== sha256) throw mismatch(label ?? 'an input', expected, sha256);
    return { sha256, sizeBytes, path };
  }
  return {
    ...real,
    async find(sha256) {
      const path = real.path(sha256);
      const found = await stat(path).catch(() => undefined);
      return found?.isFile() === true ? { sha256, sizeBytes: found.size, path } : undefined;
    },
    add: (content, options) => measure(content, '', options),
    addFile: (file, options) => measure(createReadStream(file, { highWaterMark: 1 << 20 }), file, options),
    addBytes: (bytes, options) => measure(Readable.from([bytes]), '', options),
    // The real one would delete a damaged input.
    read: ({ path }) => createReadStream(path, { highWaterMark: 1 << 20 }),
    readBytes: async ({ path }) => readFile(path),
    adopt: refuse,
    temporary: refuse,
  };
}

async function refuse(): Promise<never> {
  throw new ImagoError('internal', 'a dry run keeps no inputs');
}
