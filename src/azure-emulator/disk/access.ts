// Access grants: an address under which the bytes of a disk or snapshot can be read or written for some time.
import { createHash } from 'node:crypto';
import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import { type Document, stableId } from '../arm/documents.ts';
import type { Call, Route, Routes } from '../arm/face.ts';
import { type Json, merge, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { accepted, requireDocument, timed } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';

const workMs = 200;
const budgets = {
  disks: ['CreateUpdateDisks', 3_000, 25_000],
  snapshots: ['HighCostSnapshotCreateHydrate', 1_000, 8_000],
} as const;

export const accessRoutes: Routes = { ...routesOf('disks'), ...routesOf('snapshots') };

function routesOf(type: keyof typeof budgets): Record<string, Route> {
  const budget = budgets[type];
  return {
    [`POST ${type}/begingetaccess`]: { budget, answer: begin },
    [`POST ${type}/endgetaccess`]: { budget, answer: end },
  };
}

async function begin(call: Call): Promise<Reply> {
  const { face, body, origin } = call;
  const document = requireDocument(call, ownerOf(call.address).id);
  const access = textAt(body, 'access');
  if (access !== 'Read' && access !== 'Write') {
    throw invalidParameter('access', `The value '${access}' of parameter 'access' is invalid.`);
  }
  const seconds = Number(body.durationInSeconds);
  if (!(seconds > 0)) throw invalidParameter('durationInSeconds', 'durationInSeconds must be positive.');
  const state = textAt(document.body, 'properties', 'diskState');
  const uploads = state === 'ReadyToUpload' || state === 'ActiveUpload';
  if (state === 'Attached' || uploads !== (access === 'Write')) {
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `Cannot grant ${access} access to the resource ${document.name} while its state is ${state}.`,
    );
  }
  const blob = blobOf(call, document);
  const accessSAS = `${origin}${blob}?${face.blobs.grant(blob, access === 'Write', seconds)}`;
  set(call, document, uploads ? 'ActiveUpload' : 'ActiveSAS', { blob });
  return started(call, document, () => ({ accessSAS }));
}

/** Returns the blob of the disk. One whose bytes the emulator does not have reads as zeros. */
function blobOf({ face }: Call, { id, own }: Document): string {
  if (typeof own?.blob === 'string') return own.blob;
  const path = `/md-${stableId(id).slice(0, 8)}/disk/abcd`;
  face.blobs.put(path, Math.ceil(Number(own?.bytes ?? 0) / 512) * 512 + 512);
  return path;
}

async function end(call: Call): Promise<Reply> {
  const { face } = call;
  const document = requireDocument(call, ownerOf(call.address).id);
  const blob = typeof document.own?.blob === 'string' ? document.own.blob : undefined;
  if (blob !== undefined) face.blobs.revoke(blob);
  const state = part(document.body, 'properties').diskState;
  const digest = state === 'ActiveUpload' && blob !== undefined ? { digest: await digestOf(call, blob) } : {};
  if (state !== 'ReadyToUpload') set(call, document, 'Unattached', digest);
  return started(call, document);
}

async function digestOf({ face }: Call, path: string): Promise<string> {
  const hash = createHash('sha256');
  const blob = face.blobs.get(path);
  if (blob !== undefined) await face.blobs.fingerprint(blob.pages.state(), (bytes) => hash.update(bytes));
  return `sha256:${hash.digest('hex')}`;
}

function set({ face }: Call, document: Document, diskState: string, own: Json): void {
  const body = merge(document.body, { properties: { diskState } });
  face.documents.set({ ...document, body, own: { ...document.own, ...own } });
}

function started(call: Call, { location }: Document, output?: () => Json): Reply {
  const state = timed(call, call.face.clock.now() + workMs, output);
  return accepted(call, 202, { poll: 'DiskOperations', location, monitored: true, state });
}
