// Managed images: the older way to keep the disks of a generalized machine.
import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import { shown } from '../arm/documents.ts';
import type { Call, Routes } from '../arm/face.ts';
import { echo, isObject, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import {
  accepted,
  deleteLater,
  documentOf,
  documentsFor,
  getDocument,
  page,
  readLocation,
  requireDocument,
  timed,
  topFields,
} from '../arm/resource.ts';
import { contentOf, findDocument, gigabytes } from '../content/content.ts';

/** Recorded: 5 s. */
const workMs = 5_000;
const writes = ['CreateImagesSubscriptionMaximum', 60] as const;
const reads = ['GetImagesSubscriptionMaximum', 360] as const;

export const imageRoutes: Routes = {
  'PUT images/*': { budget: writes, answer: put },
  'PATCH images/*': { budget: writes, answer: patch },
  'GET images/*': { budget: reads, answer: getDocument },
  'GET images': {
    budget: reads,
    answer: async (call) =>
      page(
        call,
        documentsFor(call, 'images').map((one) => shown(one)),
      ),
  },
  'DELETE images/*': { budget: writes, answer: async (call) => deleteLater(call, 'operations', workMs) },
};

async function put(call: Call): Promise<Reply> {
  const { face, address, body } = call;
  const known = face.documents.get(address.id);
  const location = readLocation(body, known);
  const given = echo(part(body, 'properties'));
  const storageProfile = storageOf(call, given);
  const properties = { hyperVGeneration: 'V1', ...given, storageProfile };
  const until = face.clock.now() + workMs;
  const content = { ...topFields(body, []), properties };
  const then = merge(content, { properties: { storageProfile: sized(call, storageProfile) } });
  const state = known === undefined ? 'Creating' : 'Updating';
  const document = {
    ...documentOf(call, 'images', location, content),
    work: { state, until, then },
  } as const;
  face.documents.set(document);
  const work = { poll: 'operations', location, monitored: false, state: timed(call, until) } as const;
  return accepted(call, known === undefined ? 201 : 200, work, shown(document));
}

function patch(call: Call): Promise<Reply> {
  const { body, location } = requireDocument(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

/** The disks of the machine that the image is made from, or those that the client names. */
function storageOf({ face }: Call, given: Json): Json {
  const source = textAt(given, 'sourceVirtualMachine', 'id');
  if (source === undefined) {
    const osDisk = part(given, 'storageProfile', 'osDisk');
    if (textAt(osDisk, 'osType') === undefined) {
      throw invalidParameter('osDisk', "Required parameter 'osDisk' is missing (null).");
    }
    return { dataDisks: [], ...part(given, 'storageProfile') };
  }
  const machine = findDocument(face, source);
  if (machine !== undefined && machine.own?.generalized !== true) {
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `The VM '${machine.name}' is not generalized. Generalize it before you make an image of it.`,
    );
  }
  const storage = part(machine?.body, 'properties', 'storageProfile');
  const disk = part(storage, 'osDisk');
  const managed = part(disk, 'managedDisk');
  return {
    osDisk: {
      ...{ osType: disk.osType ?? 'Linux', osState: 'Generalized' },
      ...(textAt(managed, 'id') === undefined ? {} : { managedDisk: { id: managed.id } }),
      ...(textAt(disk, 'vhd', 'uri') === undefined ? {} : { blobUri: textAt(disk, 'vhd', 'uri') }),
      ...{
        caching: disk.caching ?? 'ReadWrite',
        storageAccountType: managed.storageAccountType ?? 'Premium_LRS',
      },
    },
    dataDisks: listAt(storage, 'dataDisks')
      .filter(isObject)
      .map((one) => ({
        lun: one.lun,
        managedDisk: { id: textAt(one, 'managedDisk', 'id') },
        caching: one.caching,
        storageAccountType: part(one, 'managedDisk').storageAccountType,
      })),
  };
}

/** The sizes appear when the image is made. */
function sized({ face }: Call, storage: Json): Json {
  const sizeOf = (disk: Json) => {
    const id =
      textAt(disk, 'managedDisk', 'id') ?? textAt(disk, 'snapshot', 'id') ?? textAt(disk, 'blobUri') ?? '';
    return { ...disk, diskSizeGB: disk.diskSizeGB ?? gigabytes(contentOf(face, id).bytes) };
  };
  return {
    osDisk: sizeOf(part(storage, 'osDisk')),
    dataDisks: listAt(storage, 'dataDisks').filter(isObject).map(sizeOf),
  };
}
