// Copies of versions in OCI registries.
import { z } from 'zod';
import { ImagoError } from '../domain/error/imago-error.ts';
import { operatingSystems } from '../domain/image/platform.ts';
import { readRecord } from '../inventory/attach-records.ts';
import { type Digest, parseDigest } from '../oci/layout/digest.ts';
import { RegistryClient } from '../oci/registry/client.ts';
import { planPull, pull } from '../oci/registry/pull.ts';
import { planPush, push } from '../oci/registry/push.ts';
import { parseRegistryReference, type RegistryReference } from '../oci/registry/reference.ts';
import type { RemoteVersion } from '../oci/registry/remote-version.ts';
import type { ImageCopies, ImageSignature, PulledFacts } from '../ports/image-store/image-store.ts';
import type { VersionsContext } from './context.ts';
import { listSignatures } from './signatures.ts';

type CopyContext = Pick<VersionsContext, 'store' | 'findCredentials' | 'guard' | 'keys' | 'now'>;

export function imageCopies(context: CopyContext): ImageCopies {
  return {
    planPush: (text, to, signal) =>
      withRegistry(context, to, async (client, { repository }) => {
        const plan = await planPush(
          await context.store(),
          parseDigest(text),
          { client, repository },
          { signal },
        );
        return { digest: plan.digest, bytes: plan.bytesToSend, bytesTotal: plan.bytesTotal };
      }),
    push: (text, to, { signal, progress }) =>
      withRegistry(context, to, async (client, { repository, tag }) => {
        const onProgress = (at: { readonly done: number; readonly total: number }) =>
          progress(at.done, at.total, `sending to ${to}`);
        const target = { client, repository, tag };
        const sent = await push(await context.store(), parseDigest(text), target, { signal, onProgress });
        return { digest: sent.digest, bytes: sent.bytesSent };
      }),
    isPushed: (text, to, signal) =>
      withRegistry(context, to, async (client, { repository, tag }) => {
        const digest = parseDigest(text);
        const there = await client.manifest(repository, tag ?? digest, signal);
        if (there?.digest !== digest) return false;
        const { missing, manifests } = await planPush(
          await context.store(),
          digest,
          { client, repository },
          { signal },
        );
        return missing.length === 0 && allThere(client, repository, manifests, signal);
      }),
    planPull: (from, signal) =>
      withRegistry(context, from, async (client, reference) => {
        const source = { client, repository: reference.repository, reference: wanted(reference, from) };
        const plan = await planPull(await context.store(), source, { signal });
        return { digest: plan.digest, bytes: plan.bytesToReceive, bytesTotal: plan.bytesTotal };
      }),
    pull: (from, { signal, progress }, decide) =>
      withRegistry(context, from, async (client, reference) => {
        const store = await context.store();
        const source = { client, repository: reference.repository, reference: wanted(reference, from) };
        const onProgress = (at: { readonly done: number; readonly total: number }) =>
          progress(at.done, at.total, `receiving from ${from}`);
        let facts: PulledFacts = {};
        const admit = async (version: RemoteVersion) => {
          facts = await factsOf(version);
          const found = new Map<string, ImageSignature>();
          for (const reader of [version, store]) {
            const signatures = await listSignatures(context, reader, version.digest);
            for (const signature of signatures) found.set(JSON.stringify(signature), signature);
          }
          await decide(facts, [...found.values()]);
        };
        const got = await pull(store, source, { signal, onProgress, admit });
        return { digest: got.digest, bytes: got.bytesReceived, ...facts };
      }),
  };
}

async function allThere(
  client: RegistryClient,
  repository: string,
  manifests: readonly Digest[],
  signal: AbortSignal,
): Promise<boolean> {
  for (const digest of manifests) {
    if ((await client.manifest(repository, digest, signal)) === undefined) return false;
  }
  return true;
}

/** Runs with a client for the registry that a reference names, signed in as this machine is. */
export async function withRegistry<T>(
  { findCredentials, guard }: Pick<VersionsContext, 'findCredentials' | 'guard'>,
  text: string,
  work: (client: RegistryClient, reference: RegistryReference) => Promise<T>,
): Promise<T> {
  const reference = parseRegistryReference(text);
  const credentials = await findCredentials(reference.registry);
  const client = new RegistryClient({ registry: reference.registry, credentials, guard });
  try {
    return await work(client, reference);
  } finally {
    client.close();
  }
}

function wanted({ tag, digest }: RegistryReference, text: string): string {
  const found = digest ?? tag;
  if (found !== undefined) return found;
  throw new ImagoError('reference-malformed', `${text} has neither tag nor digest.`, {
    hint: 'Write HOST/REPOSITORY:TAG or HOST/REPOSITORY@sha256:DIGEST.',
  });
}

const notesSchema = z.object({
  image: z.string(),
  version: z.string(),
  os: z.enum(operatingSystems),
  kubernetes: z.string().max(50).optional(),
});

/** The publisher of the copy wrote them: unreadable notes are treated as absent. */
function readNotes(text: string): z.infer<typeof notesSchema> | undefined {
  try {
    return notesSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** What a version says of itself: in its notes, else in its manifest. */
async function factsOf(version: RemoteVersion): Promise<PulledFacts> {
  const text = await readRecord(version, version.digest, 'notes');
  const notes = text === undefined ? undefined : readNotes(text);
  if (notes !== undefined) {
    const { kubernetes, ...facts } = notes;
    return { ...facts, ...(kubernetes !== undefined && { kubernetes }) };
  }
  const image = version.annotations['vnd.imago.image'];
  return image === undefined ? {} : { image };
}
