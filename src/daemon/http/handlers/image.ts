// What comes with versions, and their copies.
import type { BodyOf } from '../../../api/contract/types.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { imageImport } from '../../../domain/image/operations.ts';
import { checkName } from '../../../domain/value/name.ts';
import { requireVersion } from '../../../operations/common/require.ts';
import { planImport } from '../../../operations/image/import.ts';
import type { VersionRecord } from '../../../ports/database/catalog.ts';
import type { ImageStore } from '../../../ports/image-store/image-store.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { startOperation } from '../endpoint/start-operation.ts';
import { byteResponse } from '../response/byte-response.ts';

export const imageHandlers = {
  async diffVersions({ context, path, query, signal }) {
    const before = await requireVersion(context, path.image, path.version);
    const to = await context.catalogue.resolve(query.to);
    const after = await requireVersion(context, to.image, to.version);
    const images = await storeWith(context, before, after);
    const found = await images.records.diff(before.digest, after.digest, signal);
    return { before: nameOf(before), after: nameOf(after), ...found };
  },
  async listSignatures({ context, path }) {
    const version = await requireVersion(context, path.image, path.version);
    if ((await context.images?.find(version.digest)) === undefined) return { items: [] };
    return { items: (await context.images?.signatures.list(version.digest)) ?? [] };
  },
  async readRecord({ context, path }) {
    const version = await requireVersion(context, path.image, path.version);
    const images = await storeWith(context, version);
    const text = await images.records.read(version.digest, path.record);
    if (text === undefined) {
      throw new ImagoError('record-not-found', `${nameOf(version)} has no ${path.record}.`, {
        hint:
          path.record === 'provenance'
            ? `Sign it with \`imago image sign ${nameOf(version)}\`.`
            : 'Its disk could not be read when it was taken in.',
      });
    }
    const bytes = Buffer.from(text);
    async function* content() {
      yield bytes;
    }
    return byteResponse(content(), bytes.length);
  },
  async exportVersion({ context, path, query, signal }) {
    const version = await requireVersion(context, path.image, path.version);
    const images = await storeWith(context, version);
    const disk = await images.files.exportDisk(version.digest, query.format, signal);
    return byteResponse(disk.content(), disk.sizeBytes, () => disk.close());
  },
  async signVersion({ context, path }) {
    const version = await requireVersion(context, path.image, path.version);
    const images = await storeWith(context, version);
    return {
      subject: `image/${nameOf(version)}`,
      plan: async () => [`Sign ${nameOf(version)} (${version.digest}).`],
      run: () => sign(context, images, version),
    };
  },
  async uploadDisk({ context, upload, signal }) {
    const images = requireStore(context);
    return {
      subject: 'upload',
      plan: async () => ['Take in the disk and keep it for a day.'],
      run: () => images.files.upload(upload, signal),
    };
  },
  async importImage(call) {
    const { lock, ...body } = call.body;
    checkName('image', body.image);
    const input = lock === undefined ? body : { ...(await lockedFacts(lock, body)), ...body };
    if (body.upload !== undefined) return startOperation(call, imageImport, input);
    return {
      subject: `image/${body.image}`,
      plan: async () => planImport(input),
      async run() {
        throw new ImagoError('input-invalid', 'The import does not name its upload.');
      },
    };
  },
} satisfies Partial<Handlers>;

type ImportBody = BodyOf<'importImage'>;

/** What the lock says of the disk, where the request does not. Throws `lock-invalid` and `input-invalid`. */
async function lockedFacts(text: string, { os, kubernetes }: Omit<ImportBody, 'lock'>) {
  const { readLockFile } = await import('../../../build/lock/lock-file.ts');
  const { locks } = readLockFile(text, 'The lock');
  const known = locks.map(({ recipe }) => recipe.kubernetes ?? 'none').join(', ');
  if (kubernetes === undefined && locks.length > 1) {
    throw new ImagoError('input-invalid', `The lock is for several versions of Kubernetes: ${known}.`, {
      hint: 'Say which one the disk is of: --kubernetes VERSION.',
    });
  }
  const lock = locks.find(({ recipe }) => kubernetes === undefined || recipe.kubernetes === kubernetes);
  if (lock === undefined) {
    throw new ImagoError('input-invalid', `The lock is not for Kubernetes ${kubernetes}.`, {
      hint: `It is for: ${known}.`,
    });
  }
  const { recipe } = lock;
  if (recipe.os !== 'windows' || os === 'linux') {
    throw new ImagoError('input-invalid', 'A lock is taken only with a disk of Windows.', {
      hint: 'What is on a disk of Linux is read from the disk itself: leave the lock out.',
    });
  }
  return {
    ...{ os: recipe.os, architecture: recipe.architecture, numbering: recipe.numbering },
    ...(recipe.kubernetes !== undefined && { kubernetes: recipe.kubernetes }),
    lock,
  };
}

async function sign({ clock }: DaemonContext, images: ImageStore, version: VersionRecord) {
  const { image, version: number, digest, origin, operation, createdAt } = version;
  const lock = origin.kind === 'built' ? await images.locks.read(origin.lockDigest) : undefined;
  const signed = await images.signatures.sign({
    ...{ image, version: number, digest },
    at: new Date(clock.now()).toISOString(),
    ...(lock === undefined
      ? {}
      : { provenance: { lock, operation, startedAt: createdAt, finishedAt: createdAt } }),
  });
  if (signed !== undefined) return signed;
  throw new ImagoError('key-not-found', 'There is no key to sign with.', {
    hint: 'Make one with `imago keys create`.',
  });
}

function nameOf({ image, version }: VersionRecord): string {
  return `${image}:${version}`;
}

function requireStore({ images }: DaemonContext): ImageStore {
  if (images !== undefined) return images;
  throw new ImagoError('daemon-standby', 'This daemon stands by: another one has the store.', {
    httpStatus: 503,
    retryable: true,
  });
}

/** The store, once it is known to have the disks of these versions. */
async function storeWith(context: DaemonContext, ...versions: readonly VersionRecord[]): Promise<ImageStore> {
  const images = requireStore(context);
  for (const version of versions) {
    if ((await images.find(version.digest)) !== undefined) continue;
    throw new ImagoError('store-not-found', `The disk of ${nameOf(version)} is not in the local store.`, {
      hint: 'It is simulated, or kept by another provider or machine: pull it from where it is.',
    });
  }
  return images;
}
