// Operations that Azure still works on, in a file, so that a daemon that starts again can say why one has failed: a
// resource shows that it failed, and only its operation why.
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { createTurns } from '../../../async/keyed-mutex.ts';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import { systemCode, writeFileDurably } from '../../../host/files/durable-files.ts';
import type { ProvisioningError } from '../../../ports/provider/call.ts';
import type { ArmClient, ArmOperation, Started } from './client.ts';

interface Entry extends ArmOperation {
  readonly at: number;
}

/** Azure answers for an operation for about a day. */
const keptMs = 24 * 3_600_000;

export class OperationBook {
  readonly #file: string | undefined;
  readonly #now: () => number;
  readonly #turn = createTurns();
  #entries: Map<string, Entry> | undefined;

  /** Without a file, it forgets when the process ends. */
  constructor(file: string | undefined, now: () => number) {
    this.#file = file;
    this.#now = now;
  }

  /** Notes the operation that works on a resource; one that has ended already removes the note. */
  async note(id: string, { operation }: Started<unknown>): Promise<void> {
    await this.#turn('file', async () => {
      const entries = await this.#load();
      if (operation === undefined) entries.delete(id.toLowerCase());
      else entries.set(id.toLowerCase(), { ...operation, at: this.#now() });
      for (const [key, { at }] of entries) if (this.#now() - at > keptMs) entries.delete(key);
      await this.#save(entries);
    });
  }

  /** Returns why the last operation on a resource failed; `undefined` if it did not, or that is unknown. */
  async failureOf(arm: ArmClient, id: string, signal: AbortSignal): Promise<ProvisioningError | undefined> {
    const entry = (await this.#load()).get(id.toLowerCase());
    if (entry === undefined) return undefined;
    try {
      await arm.poll(entry, signal);
      return undefined;
    } catch (thrown) {
      signal.throwIfAborted();
      const { details, message } = ensureImagoError(thrown);
      return { code: String(details?.azureCode ?? 'Unknown'), message };
    }
  }

  async #load(): Promise<Map<string, Entry>> {
    if (this.#entries !== undefined) return this.#entries;
    const text = this.#file === undefined ? '[]' : await readFile(this.#file, 'utf8').catch(absent);
    this.#entries = new Map(parse(text));
    return this.#entries;
  }

  async #save(entries: Map<string, Entry>): Promise<void> {
    if (this.#file === undefined) return;
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    await writeFileDurably(this.#file, JSON.stringify([...entries]));
  }
}

function absent(error: unknown): string {
  if (systemCode(error) === 'ENOENT') return '[]';
  throw error;
}

/** A file that is damaged loses reasons, and nothing else. */
function parse(text: string): [string, Entry][] {
  try {
    return JSON.parse(text);
  } catch {
    return [];
  }
}
