// index.json: which manifests the store holds, and under which tags. Readers see it complete, before or after a
// change; changes run one at a time.
import { readFile } from 'node:fs/promises';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode, writeFileDurably } from '../../host/files/durable-files.ts';
import type { Digest } from './digest.ts';
import { type Descriptor, encodeJson, parseIndex, sortedAnnotations } from './manifest.ts';
import { annotationKeys, mediaTypes } from './media-types.ts';
import type { StoreOwner } from './owner.ts';
import type { StorePaths } from './paths.ts';

const tagPattern = /^[\w][\w.-]{0,127}$/;

export class LayoutIndex {
  readonly #paths: StorePaths;
  readonly #owner: StoreOwner;

  constructor(paths: StorePaths, owner: StoreOwner) {
    this.#paths = paths;
    this.#owner = owner;
  }

  /** Every entry, oldest first. A manifest with several tags has an entry for each. */
  async entries(): Promise<readonly Descriptor[]> {
    try {
      return parseIndex(await readFile(this.#paths.indexFile), 'index.json').manifests;
    } catch (error) {
      if (systemCode(error) !== 'ENOENT') throw error;
      throw new ImagoError(
        'store-corrupt',
        `${this.#paths.indexFile} is missing: the list of what the store holds`,
      );
    }
  }

  async resolve(tag: string): Promise<Descriptor | undefined> {
    return (await this.entries()).find((entry) => tagOf(entry) === tag);
  }

  async find(digest: Digest): Promise<Descriptor | undefined> {
    return (await this.entries()).find((entry) => entry.digest === digest);
  }

  /** Lists a manifest. One that is listed already stays where it is. */
  async add(descriptor: Descriptor): Promise<void> {
    await this.change((entries) =>
      entries.some((entry) => entry.digest === descriptor.digest)
        ? entries
        : [...entries, withTag(descriptor, undefined)],
    );
  }

  /**
   * Points a tag at a manifest, which is listed by this too. A tag that pointed elsewhere moves, and what it
   * pointed at stays listed, or with `replace` only under its other tags.
   */
  async tag(tag: string, descriptor: Descriptor, replace = false): Promise<void> {
    if (!tagPattern.test(tag)) {
      throw new ImagoError('input-invalid', `${JSON.stringify(tag)} is not a tag that registries accept`);
    }
    await this.change((entries) => {
      const current = entries.find((entry) => tagOf(entry) === tag);
      if (current?.digest === descriptor.digest) return entries;
      const others = replace ? entries.filter((entry) => entry !== current) : untagged(entries, tag);
      const rest = others.filter((entry) => entry.digest !== descriptor.digest || tagOf(entry) !== undefined);
      return [...rest, withTag(descriptor, tag)];
    });
  }

  /** Removes a tag; its manifest stays listed. Does nothing if there is no such tag. */
  async untag(tag: string): Promise<void> {
    await this.change((entries) => untagged(entries, tag));
  }

  async change(edit: (entries: readonly Descriptor[]) => readonly Descriptor[]): Promise<void> {
    await this.#owner.exclusive(() => this.changeNow(edit));
  }

  /** Like `change`, for a caller that is inside `exclusive`. */
  async changeNow(edit: (entries: readonly Descriptor[]) => readonly Descriptor[]): Promise<void> {
    const before = await this.entries();
    const after = edit(before);
    if (after === before) return;
    const bytes = encodeJson({ schemaVersion: 2, mediaType: mediaTypes.index, manifests: after });
    await writeFileDurably(this.#paths.indexFile, bytes, 0o644, this.#owner.temporaryPath());
  }
}

export function tagOf(entry: Descriptor): string | undefined {
  return entry.annotations?.[annotationKeys.tag];
}

function withTag(descriptor: Descriptor, tag: string | undefined): Descriptor {
  const { [annotationKeys.tag]: _, ...others } = descriptor.annotations ?? {};
  const annotations = sortedAnnotations(
    tag === undefined ? others : { ...others, [annotationKeys.tag]: tag },
  );
  const { mediaType, digest, size, artifactType } = descriptor;
  return { mediaType, digest, size, artifactType, annotations };
}

/** Without the tag; an entry that had only this tag stays as an untagged one. */
function untagged(entries: readonly Descriptor[], tag: string): readonly Descriptor[] {
  if (!entries.some((entry) => tagOf(entry) === tag)) return entries;
  return entries.flatMap((entry) => {
    if (tagOf(entry) !== tag) return [entry];
    const listedElsewhere = entries.some((other) => other !== entry && other.digest === entry.digest);
    return listedElsewhere ? [] : [withTag(entry, undefined)];
  });
}
