// The bytes of all blobs in one file that only grows. Without a path it has no name, so that nothing is left behind.
import { existsSync, statSync } from 'node:fs';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export class DataFile {
  readonly #path: string | undefined;
  #file: Promise<FileHandle> | undefined;
  #length = 0;

  constructor(path?: string) {
    this.#path = path;
    if (path === undefined || !existsSync(path)) return;
    this.#length = statSync(path).size;
    this.#file = open(path, 'r+');
  }

  /** Returns where the bytes are. */
  async append(bytes: Buffer): Promise<number> {
    const at = this.#length;
    this.#length += bytes.length;
    this.#file ??= this.#path === undefined ? openNameless() : open(this.#path, 'w+');
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
