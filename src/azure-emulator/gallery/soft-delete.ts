// Soft delete: a version of a gallery that has it enabled stays for a week, hidden, and can be restored.
import { gone } from '../arm/arm-error.ts';
import type { Document } from '../arm/documents.ts';
import type { Call, Routes } from '../arm/face.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import { accepted, page, requireDocument, timed } from '../arm/resource.ts';
import { hiddenSince } from '../content/hidden.ts';
import { deleteForGood } from './versions.ts';

const type = 'galleries/softdeletedartifacttypes/artifacts/versions';

export const softDeleteRoutes: Routes = {
  [`GET ${type}`]: { budget: ['ListGalleryImageVersionsInGalleryImage', 1_500, 10_000], answer: list },
  [`DELETE ${type}/*`]: { budget: ['DeleteGalleryImageVersion', 150, 1_000], answer: remove },
};

/** Versions are found under their image, `…/images/NAME/versions`. */
function versionsOf({ address }: Call): string {
  const [gallery] = address.id.split(/\/softDeletedArtifactTypes\//i);
  return `${gallery}/images/${address.names[2]}/versions`;
}

async function list(call: Call): Promise<Reply> {
  const prefix = versionsOf(call);
  requireDocument(call, prefix.replace(/\/images\/.*$/, ''));
  const found = call.face.documents.inside(prefix).filter((one) => hiddenSince(one) !== undefined);
  return page(
    call,
    found.map((one) => shownDeleted(call, one)),
  );
}

function shownDeleted({ address }: Call, document: Document) {
  return {
    ...{ id: `${address.id}/${document.name}`, name: document.name, location: document.location },
    type: 'Microsoft.Compute/galleries/softDeletedArtifactTypes/artifacts/versions',
    properties: {
      resourceArmId: document.id,
      softDeletedArtifactType: 'Images',
      softDeletedTime: azureTime(hiddenSince(document) ?? 0),
    },
  };
}

async function remove(call: Call): Promise<Reply> {
  const document = call.face.documents.get(`${versionsOf(call)}/${call.address.names[3]}`);
  if (document === undefined || hiddenSince(document) === undefined) {
    throw gone();
  }
  await deleteForGood(call.face, document);
  const state = timed(call, call.face.clock.now() + 91_000);
  return accepted(call, 202, { poll: 'capsOperations', location: document.location, monitored: true, state });
}
