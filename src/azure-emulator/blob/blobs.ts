// The blobs of storage accounts and the contents of disks, and the grants under which they are read and written.
import { randomBytes } from 'node:crypto';
import { DataFile } from './data-file.ts';
import { type BlobState, PageBlob, pagesOf, type Range, readRange } from './page-blob.ts';

export interface Blob {
  readonly pages: PageBlob;
  readonly snapshots: Map<string, BlobState>;
  etag: number;
  lease: string | undefined;
  /** The source and the time of the last copy. */
  copy: { readonly id: string; readonly source: string } | undefined;
}

export interface Grant {
  readonly path: string;
  readonly write: boolean;
  readonly until: number;
}

export interface KeptBlob {
  readonly path: string;
  readonly state: BlobState;
  readonly snapshots: readonly (readonly [string, BlobState])[];
  readonly etag: number;
}

export class Blobs {
  readonly data: DataFile;
  /** Blobs that the service itself writes, such as the logs of consoles. */
  readonly live = new Map<string, () => Promise<Buffer>>();
  readonly #blobs = new Map<string, Blob>();
  readonly #grants = new Map<string, Grant>();
  readonly #now: () => number;

  constructor(now: () => number, file?: string, kept: readonly KeptBlob[] = []) {
    this.#now = now;
    this.data = new DataFile(file);
    for (const { path, state, snapshots, etag } of kept) {
      const blob = this.put(path, state);
      for (const [name, before] of snapshots) blob.snapshots.set(name, before);
      blob.etag = etag;
    }
  }

  /** Grants and leases end with the run. */
  kept(): readonly KeptBlob[] {
    return [...this.#blobs].map(([path, { pages, snapshots, etag }]) => ({
      ...{ path, state: pages.state(), snapshots: [...snapshots], etag },
    }));
  }

  get(path: string): Blob | undefined {
    return this.#blobs.get(path);
  }

  put(path: string, from: number | BlobState): Blob {
    const pages = new PageBlob(this.data, from);
    const blob: Blob = { pages, snapshots: new Map(), etag: 1, lease: undefined, copy: undefined };
    this.#blobs.set(path, blob);
    return blob;
  }

  delete(path: string): void {
    this.#blobs.delete(path);
  }

  inside(container: string): readonly string[] {
    return [...this.#blobs.keys()].filter((path) => path.startsWith(`${container}/`)).sort();
  }

  /** Returns the query of an address under which the blob can be read, or written too, for some time. */
  grant(path: string, write: boolean, seconds: number): string {
    const signature = randomBytes(32).toString('base64');
    this.#grants.set(signature, { path, write, until: this.#now() + seconds * 1000 });
    const id = randomBytes(16).toString('hex');
    return `sv=2018-03-28&sr=b&si=${id}&sig=${encodeURIComponent(signature)}`;
  }

  granted(path: string, signature: string, write: boolean): boolean {
    const grant = this.#grants.get(signature);
    return grant?.path === path && grant.until > this.#now() && (grant.write || !write);
  }

  revoke(path: string): void {
    for (const [signature, grant] of this.#grants) if (grant.path === path) this.#grants.delete(signature);
  }

  read(state: BlobState, range: Range): Promise<Buffer> {
    return readRange(this.data, state, range);
  }

  /** Returns a text that is the same for the same bytes. */
  async fingerprint(state: BlobState, add: (bytes: Buffer) => void): Promise<void> {
    const step = 4 * 2 ** 20;
    for (const { start, end } of pagesOf(state)) {
      for (let at = start; at < end; at += step) {
        const bytes = await this.read(state, { start: at, end: Math.min(end, at + step) });
        if (bytes.some((byte) => byte !== 0)) {
          add(Buffer.from(String(at)));
          add(bytes);
        }
      }
    }
  }

  async close(): Promise<void> {
    await this.data.close();
  }
}
