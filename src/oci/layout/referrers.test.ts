import { describe, expect, test } from 'vitest';
import { diskOf, type TestStore, testStore } from '../../../test/support/test-disks.ts';
import { isLocallyVerified } from '../chunks/load-chunk-index.ts';
import { putDisk } from '../disks/put-disk.ts';
import type { Digest } from './digest.ts';
import { maxManifestSize, parseIndex, parseManifest } from './manifest.ts';
import { annotationKeys, mediaTypes } from './media-types.ts';
import { attach, fallbackTag, subjectOfTag } from './referrers.ts';

async function putSample(made: TestStore): Promise<Digest> {
  return (await putDisk(made.store, await made.disk('disk', diskOf([{ kind: 'text', seed: 1, blocks: 20 }]))))
    .digest;
}

function note(content: string) {
  return {
    artifactType: 'application/vnd.imago.notes.v1',
    parts: [{ mediaType: 'text/markdown', bytes: Buffer.from(content), title: 'notes.md' }],
  };
}

async function fallbackList(made: TestStore, digest: Digest): Promise<Digest[]> {
  const tagged = await made.store.resolve(fallbackTag(digest));
  if (tagged === undefined) return [];
  const index = parseIndex(await made.store.readBlob(tagged, maxManifestSize), 'fallback');
  return index.manifests.map((entry) => entry.digest);
}

describe('what is attached to a version', () => {
  test('is listed with its kind, and names its subject', async () => {
    await using made = await testStore();
    const digest = await putSample(made);
    const attached = await attach(made.store, digest, note('first'));
    expect(await made.store.referrers(digest)).toEqual([attached]);
    expect(await made.store.referrers(digest, 'something/else')).toEqual([]);
    const manifest = parseManifest(await made.store.readBlob(attached.digest), 'attached');
    expect(manifest).toMatchObject({ artifactType: 'application/vnd.imago.notes.v1', subject: { digest } });
    expect(manifest.layers[0]?.annotations).toEqual({ 'org.opencontainers.image.title': 'notes.md' });
  });

  test('the same content again is the same attachment', async () => {
    await using made = await testStore();
    const digest = await putSample(made);
    const one = await attach(made.store, digest, note('same'));
    const two = await attach(made.store, digest, note('same'));
    expect(two).toEqual(one);
    expect((await made.store.referrers(digest)).length).toBe(1);
  });

  test('the fallback tag lists everything, including what two callers attach concurrently', async () => {
    await using made = await testStore();
    const digest = await putSample(made);
    const attached = await Promise.all(
      Array.from({ length: 8 }, (_, number) => attach(made.store, digest, note(`number ${number}`))),
    );
    const expected = attached.map((entry) => entry.digest).sort();
    expect((await fallbackList(made, digest)).sort()).toEqual(expected);
    const tagged = (await made.store.index.entries()).filter((entry) => entry.mediaType.includes('index'));
    expect(tagged.length).toBe(1);
  });

  test('an attachment that passes itself off as a disk is not one that the store answers for', async () => {
    await using made = await testStore();
    const digest = await putSample(made);
    const posing = await attach(made.store, digest, {
      artifactType: mediaTypes.disk,
      parts: [],
      annotations: { [annotationKeys.diskSha256]: digest },
    });
    const entries = await made.store.index.entries();
    const vouched = entries.filter(isLocallyVerified).map((entry) => entry.digest);
    expect(vouched).toEqual([digest]);
    expect(entries.map((entry) => entry.digest)).toContain(posing.digest);
  });

  test('a fallback tag tells its subject, and other tags do not', () => {
    const digest = `sha256:${'c'.repeat(64)}` as const;
    expect(subjectOfTag(fallbackTag(digest))).toBe(digest);
    expect(subjectOfTag(fallbackTag(digest, '.sig'))).toBe(digest);
    expect(subjectOfTag('v1.0.0')).toBeUndefined();
  });
});
