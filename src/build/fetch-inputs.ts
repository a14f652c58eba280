// Brings the inputs of a lock into the cache, several at a time: from versions that kept them, or from the sources in
// the lock. All inputs that are missing are reported together, by name.
import { createReadStream } from 'node:fs';
import { throwIfAborted } from '../async/abort.ts';
import { mapLimit } from '../async/map-limit.ts';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { describeInput, type LockedInput } from '../domain/lock/lock.ts';
import { isLocal } from '../domain/recipe/local-path.ts';
import type { DiskStore } from '../oci/disks/disk-store.ts';
import { hexOf } from '../oci/layout/digest.ts';
import { contentOf, parseManifestLike } from '../oci/layout/manifest.ts';
import { archiveSource } from './containers/archive-source.ts';
import { fetchImage, storedImage } from './containers/fetch-image.ts';
import { layoutSource, type OciSource, registrySource } from './containers/oci-source.ts';
import { folderArchive } from './inputs/folder-archive.ts';
import { unpack } from './inputs/unpack.ts';
import type { AgentBundle, LockContext } from './lock/context.ts';
import { buildEpoch } from './lock/rules.ts';

export interface Mirrors {
  readonly main: string;
  readonly security: string | undefined;
}

type Shared = 'inputs' | 'downloads' | 'findCredentials' | 'files' | 'machine' | 'signal';

export interface FetchContext extends Pick<LockContext, Shared>, Partial<Pick<LockContext, 'guard'>> {
  /** The store in which versions that left `candidate` keep their inputs. */
  readonly kept?: DiskStore | undefined;
  /** Returns the mirrors of the archive that the recipe has the keys of (`apt`), or of Debian's. */
  readonly mirrors: (archive: 'apt' | 'debian') => Promise<Mirrors>;
  /** The agent of this Imago, for locks that name the same. */
  readonly agent?: AgentBundle | undefined;
  readonly onProgress?: (bytes: number, total: number) => void;
}

const atOnce = 6;

/**
 * Says how many were not in the store already. Throws `input-missing` with the names of all that are gone; any other
 * failure as it is.
 */
export async function fetchInputs(wanted: readonly LockedInput[], context: FetchContext): Promise<number> {
  const total = wanted.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const came = new Map<LockedInput, number>();
  let bytes = 0;
  let brought = 0;
  const count = (input: LockedInput, soFar: number) => {
    const now = Math.min(soFar, input.sizeBytes);
    bytes += now - (came.get(input) ?? 0);
    came.set(input, now);
    context.onProgress?.(bytes, total);
  };
  const gone: string[] = [];
  await mapLimit(wanted, atOnce, async (input) => {
    throwIfAborted(context.signal);
    try {
      if (await fetchInput(input, context, (soFar) => count(input, soFar))) brought += 1;
    } catch (error) {
      const { code, message } = ensureImagoError(error);
      if (code !== 'input-missing' && code !== 'file-missing') throw error;
      gone.push(named(input, message));
    }
    count(input, input.sizeBytes);
  });
  if (gone.length === 0) return brought;
  const others = gone.length === 1 ? '' : ` (and ${gone.length - 1} more)`;
  throw new ImagoError('input-missing', `${gone[0]}${others}`, { details: { missing: gone } });
}

/** Most messages begin with the name already. */
function named(input: LockedInput, message: string): string {
  const name = describeInput(input);
  return message.startsWith(name) ? message : `${name} (${message})`;
}

/** False when it was there already. */
async function fetchInput(
  input: LockedInput,
  context: FetchContext,
  onBytes: (soFar: number) => void,
): Promise<boolean> {
  const { inputs } = context;
  const [, scheme = '', rest = ''] = /^([a-z-]+):(.*)$/s.exec(input.source) ?? [];
  const request: Request = { input, label: describeInput(input), rest, context, onBytes };
  const inParts = partSources[scheme];
  if (inParts !== undefined) {
    if ((await storedImage(inputs, input.sha256, request.label)) !== undefined) return false;
    await takeParts(request, inParts);
    return true;
  }
  if ((await inputs.find(input.sha256)) !== undefined) return false;
  if (await takeKept(input.sha256, request)) return true;
  const take = wholeSources[scheme];
  if (take === undefined) throw missing(request, `${scheme || 'its source'} cannot be asked for it`);
  await take(request);
  return true;
}

interface Request {
  readonly input: LockedInput;
  readonly label: string;
  /** Behind the scheme. */
  readonly rest: string;
  readonly context: FetchContext;
  readonly onBytes: (soFar: number) => void;
}

/** Whether an input is a container image or an artifact, of which the lock names only the manifest. */
export function hasParts(source: string): boolean {
  return Object.keys(partSources).some((scheme) => source.startsWith(`${scheme}:`));
}

const wholeSources: Readonly<Record<string, (request: Request) => Promise<unknown>>> = {
  http: (request) => download(request, request.input.source),
  https: (request) => download(request, request.input.source),
  debian: (request) => downloadPackage(request, 'debian', 'main'),
  'debian-security': (request) => downloadPackage(request, 'debian', 'security'),
  apt: (request) => downloadPackage(request, 'apt', 'main'),
  'apt-security': (request) => downloadPackage(request, 'apt', 'security'),
  file: async (request) => request.context.inputs.addFile(await localPath(request), checked(request)),
  folder: async (request) =>
    request.context.inputs.add(folderArchive(await localPath(request), buildEpoch), checked(request)),
  async imago(request) {
    const { agent, inputs } = request.context;
    if (agent === undefined) throw missing(request, 'this Imago has no agent for images');
    return inputs.addBytes(agent.archive, checked(request)).catch((cause: unknown) => {
      throw isMismatch(cause) ? missing(request, 'this Imago has another agent') : cause;
    });
  },
};

/** Of what has parts of its own: container images and artifacts. */
const partSources: Readonly<Record<string, (request: Request) => Promise<OciSource>>> = {
  async oci({ input, label, rest, context }) {
    const reference = `${rest.replace(/@.*$/, '').replace(/:[^:/]*$/, '')}@sha256:${input.sha256}`;
    return registrySource(reference, label, context);
  },
  layout: async (request) =>
    layoutSource(await localPath(request), request.label, `sha256:${request.input.sha256}`),
  async archive(request) {
    const { input, label, rest, context } = request;
    const content = isLocal(rest)
      ? createReadStream(await localPath(request))
      : context.inputs.read(await context.downloads.fetch({ url: rest, label, signal: context.signal }));
    return archiveSource(unpack(content), label, input.name, context.inputs);
  },
};

async function takeParts(request: Request, open: (request: Request) => Promise<OciSource>): Promise<void> {
  if (await takeKeptParts(request)) return;
  const { input, label, context, onBytes } = request;
  const { inputs, machine, signal } = context;
  const source = await open(request);
  try {
    const expected = `sha256:${input.sha256}`;
    await fetchImage({ source, store: inputs, label, machine, expected, signal, onBytes });
  } finally {
    await source.close();
  }
}

function download({ input, label, context, onBytes }: Request, url: string): Promise<unknown> {
  const { sha256, sizeBytes } = input;
  return context.downloads.fetch({
    ...{ url, label, sha256, sizeBytes, signal: context.signal, onProgress: onBytes },
  });
}

async function downloadPackage(
  request: Request,
  archive: 'apt' | 'debian',
  part: keyof Mirrors,
): Promise<unknown> {
  const mirror = (await request.context.mirrors(archive))[part];
  if (mirror === undefined) throw missing(request, 'no archive with security updates is known');
  return download(request, inMirror(mirror, request));
}

function inMirror(mirror: string, { rest }: Request): string {
  return `${mirror.replace(/\/+$/, '')}/${rest.split('/').map(encodeURIComponent).join('/')}`;
}

/** A build knows no directory: what came from a file is in the cache, or cannot be had. */
function localPath(request: Request): Promise<string> {
  return request.context.files.find(request.rest).catch((error: unknown) => {
    if (ensureImagoError(error).code !== 'recipe-local-input') throw error;
    throw missing(request, `it came from ${request.rest}, and the recipe's folder is not known`);
  });
}

function checked({ input, label }: Request) {
  return { expected: input.sha256, label };
}

/** What a version kept. False when there is none, or it is damaged: then its source is asked. */
async function takeKept(sha256: string, { label, context }: Request): Promise<boolean> {
  const { kept, inputs } = context;
  const digest = `sha256:${sha256}` as const;
  if (kept === undefined || (await kept.blobs.size(digest)) === undefined) return false;
  try {
    const content = createReadStream(kept.blobs.path(digest), { highWaterMark: 1 << 20 });
    await inputs.add(content, { expected: sha256, label });
    return true;
  } catch (error) {
    if (isMismatch(error) || isReadFault(error)) return false;
    throw error;
  }
}

/** Takes an image or artifact with all its parts. If one is missing, the source is asked for all of them. */
async function takeKeptParts(request: Request): Promise<boolean> {
  const { input, label, context } = request;
  if (!(await takeKept(input.sha256, request))) return false;
  const found = await context.inputs.find(input.sha256);
  if (found === undefined) return false;
  const parsed = parseManifestLike(await context.inputs.readBytes(found), label);
  for (const { digest } of contentOf(parsed)) {
    const sha256 = hexOf(digest);
    if ((await context.inputs.find(sha256)) === undefined && !(await takeKept(sha256, request))) return false;
  }
  return true;
}

/** The store's disk cannot give its bytes, or they went while they were read. */
function isReadFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'EIO' || error.code === 'ENOENT');
}

function isMismatch(error: unknown): boolean {
  return error instanceof ImagoError && error.code === 'input-mismatch';
}

function missing({ label }: Request, why: string): ImagoError {
  return new ImagoError('input-missing', `${label} is not in the cache: ${why}.`);
}
