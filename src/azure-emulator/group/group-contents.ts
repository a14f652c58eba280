// What a resource group contains: listed, and deleted with the group.
import { randomUUID } from 'node:crypto';
import type { Document } from '../arm/documents.ts';
import { type Face, modelCall } from '../arm/face.ts';
import type { Json } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { readAddress } from '../arm/resource-id.ts';
import { modelNames } from '../gallery/names.ts';

const pattern = /^(\/subscriptions\/[^/]+)\/resourcegroups\/([^/]+)(\/resources)?$/i;

/** Answers for the contents of groups; `undefined` for everything else. */
export async function answerContents(
  method: string,
  url: URL,
  face: Face,
  groups: Map<string, Json>,
): Promise<Reply | undefined> {
  const isResult = /^\/subscriptions\/[^/]+\/operationresults\/[^/]+$/i.test(url.pathname);
  if (isResult) return { status: 200 };
  const [id, subscription, group = '', resources] = pattern.exec(url.pathname) ?? [];
  const inside = () => face.documents.all().filter((one) => one.group.toLowerCase() === group.toLowerCase());
  if (method === 'GET' && resources !== undefined) {
    const top = inside().filter((one) => readAddress(one.id)?.names.length === 1);
    return { status: 200, body: { value: top.map(resourceOf) } };
  }
  if (method !== 'DELETE' || id === undefined || !groups.has(id.toLowerCase())) return undefined;
  for (const document of inside().sort((a, b) => b.id.length - a.id.length)) {
    await deleteInModel(face, document);
    face.documents.delete(document.id);
  }
  groups.delete(id.toLowerCase());
  const result = `${url.origin}${subscription}/operationresults/${randomUUID()}${url.search}`;
  return { status: 202, headers: { Location: result, 'Retry-After': '1' } };
}

function resourceOf({ id, name, type, location, body }: Document): Json {
  const tags = body.tags === undefined ? {} : { tags: body.tags };
  return { id, name, type: type.includes('.') ? type : `Microsoft.Compute/${type}`, location, ...tags };
}

/** A group goes with everything in it, whatever guards it. */
async function deleteInModel({ cloud }: Face, { id, type, own = {} }: Document): Promise<void> {
  const { gallery, image, version } = modelNames(readAddress(id) ?? { subscription: '', names: [] });
  if (type === 'virtualMachineScaleSets') await cloud.pools.deletePool(String(own.pool), modelCall);
  if (type === 'virtualMachines' && own.machine !== undefined) {
    await cloud.machines.deleteMachine(String(own.machine), modelCall);
  }
  if (type === 'snapshots' && own.snapshot !== undefined) {
    await cloud.disks.deleteSnapshot(String(own.snapshot), modelCall);
  }
  if (type === 'galleries/images/versions') cloud.world.deleteVersionByOther(image, version, gallery);
  if (type === 'galleries/images') await cloud.galleries.open(gallery).deleteImage(image, modelCall);
  if (type === 'galleries') await cloud.galleries.deleteGallery(gallery, modelCall);
}
