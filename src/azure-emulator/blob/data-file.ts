// The bytes of all blobs in one file that only grows. It has no name, so that nothing is left behind.
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class DataFile {
  #file: Promise<FileHandle> | undefined;
  #length = 0;

  /** Returns where the bytes are. */
  async append(bytes: Buffer): Promise<number> {
    const at = this.#length;
    this.#length += bytes.length;
    this.#file ??= openNameless();
    const file = await this.#file;
    await file.write(bytes, 0, bytes.length, at);
    return at;
  }

  async read(into: Buffer, at: number): Promise<void> {
    const file = await this.#file;
    await file?.read(into, 0, into.length, at);
  }

  async close(): Promise<void> {
    await (await this.#file)?.close();
  }
}

async function openNameless(): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'imago-azure-'));
  try {
    return await open(join(folder, 'data'), 'w+');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
