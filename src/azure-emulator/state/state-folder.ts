// What the emulator keeps between runs, beside the files of the cloud model: one document, replaced as a whole.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Document } from '../arm/documents.ts';
import type { Json } from '../arm/json.ts';
import type { KeptOperation } from '../arm/operations.ts';
import type { KeptBlob } from '../blob/blobs.ts';

export interface KeptState {
  readonly groups: readonly (readonly [string, Json])[];
  readonly subscriptions: Readonly<
    Record<string, { readonly documents: readonly Document[]; readonly operations: readonly KeptOperation[] }>
  >;
  readonly blobs: readonly KeptBlob[];
}

const nothing: KeptState = { groups: [], subscriptions: {}, blobs: [] };

export class StateFolder {
  readonly #path: string;

  constructor(path: string) {
    mkdirSync(path, { recursive: true, mode: 0o700 });
    this.#path = path;
  }

  file(name: string): string {
    return join(this.#path, name);
  }

  read(): KeptState {
    try {
      return JSON.parse(readFileSync(this.file('emulator.json'), 'utf8')) as KeptState;
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return nothing;
      throw thrown;
    }
  }

  write(state: KeptState): void {
    writeFileSync(this.file('emulator.json.new'), JSON.stringify(state));
    renameSync(this.file('emulator.json.new'), this.file('emulator.json'));
  }
}
