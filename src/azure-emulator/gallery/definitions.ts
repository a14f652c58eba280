// Image definitions: their fixed properties are the model's, everything else is echoed.
import { changeNotAllowed, invalidParameter } from '../arm/arm-error.ts';
import { shown } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { echo, isObject, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import {
  accepted,
  deleteLater,
  documentOf,
  getDocument,
  page,
  readLocation,
  requireDocument,
  requireEmpty,
  requireParent,
  timed,
  topFields,
} from '../arm/resource.ts';
import { ownName } from '../arm/resource-id.ts';
import { checkAzureName, modelNames } from './names.ts';
import { forgetDeleted } from './versions.ts';

const workMs = 400;
const fixed = ['osType', 'osState', 'hyperVGeneration', 'architecture'] as const;

export const definitionRoutes: Routes = {
  'PUT galleries/images/*': { budget: ['CreateUpdateGalleryImage', 150, 750], answer: put },
  'PATCH galleries/images/*': { budget: ['CreateUpdateGalleryImage', 150, 750], answer: patch },
  'GET galleries/images/*': { budget: ['GetGalleryImage', 600, 3_000], answer: getDocument },
  'GET galleries/images': { budget: ['ListGalleryImagesInGallery', 1_500, 10_000], answer: list },
  'DELETE galleries/images/*': { budget: ['DeleteGalleryImage', 50, 300], answer: remove },
};

async function list(call: Call): Promise<Reply> {
  requireDocument(call, call.address.id.split('/').slice(0, -1).join('/'));
  return page(
    call,
    call.face.documents.inside(call.address.id).map((one) => shown(one)),
  );
}

async function put(call: Call): Promise<Reply> {
  const { face, address, body } = call;
  checkAzureName('galleries/images', ownName(address));
  const gallery = requireParent(call);
  const known = face.documents.get(address.id);
  const location = readLocation(body, known);
  const properties = filled(part(body, 'properties'), call.apiVersion);
  checkIdentifier(call, properties);
  const before = part(known?.body, 'properties');
  for (const name of known === undefined ? [] : fixed) {
    if (properties[name] !== before[name]) throw changeNotAllowed(`galleryImage.properties.${name}`);
  }
  const model = modelNames({ ...address, names: [gallery.name, ownName(address)] });
  const image = {
    name: model.image,
    os: properties.osType === 'Windows' ? 'windows' : 'linux',
    architecture: properties.architecture === 'Arm64' ? 'arm64' : 'x64',
    generation: properties.hyperVGeneration === 'V1' ? 1 : 2,
    osState: properties.osState === 'Specialized' ? 'specialized' : 'generalized',
  } as const;
  await face.cloud.galleries.open(model.gallery).createImage(image, modelCall);
  const until = face.clock.now() + workMs;
  const state = known === undefined ? 'Creating' : 'Updating';
  const content = { ...topFields(body, []), properties };
  const document = {
    ...documentOf(call, 'galleries/images', location, content),
    work: { state, until },
  } as const;
  face.documents.set(document);
  const work = { poll: 'capsOperations', location, monitored: false, state: timed(call, until) } as const;
  return accepted(call, known === undefined ? 201 : 200, work, shown(document));
}

function patch(call: Call): Promise<Reply> {
  const { body, location } = requireDocument(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

/** Fills in what Azure fills in, and refuses what is missing or not a value of its list. */
function filled(given: Json, apiVersion: string): Json {
  const osType = choice(given, 'osType', ['Linux', 'Windows']);
  const osState = choice(given, 'osState', ['Generalized', 'Specialized']);
  const generations = ['V1', 'V2'] as const;
  const newer = apiVersion >= '2025-03-03' ? 'V2' : 'V1';
  const hyperVGeneration = choice(given, 'hyperVGeneration', generations, newer);
  const architecture = choice(given, 'architecture', ['x64', 'Arm64'], 'x64');
  const features = listAt(given, 'features').filter(isObject).map(spelled);
  return {
    ...echo(given),
    ...{ osType, osState, hyperVGeneration, architecture },
    ...(features.length === 0 ? {} : { features }),
  };
}

function choice(given: Json, name: string, values: readonly string[], otherwise?: string): string {
  const text = textAt(given, name) ?? otherwise;
  if (text === undefined) throw invalidParameter(name, `Required parameter '${name}' is missing (null).`);
  const found = values.find((value) => value.toLowerCase() === text.toLowerCase());
  if (found !== undefined) return found;
  throw invalidParameter(
    name,
    `The value '${text}' of parameter '${name}' is invalid. Allowed values: ${values.join(', ')}.`,
  );
}

/** Values of features are echoed in Azure's own case. */
const featureValues = new Map(
  [
    'ConfidentialVM',
    'ConfidentialVMSupported',
    'TrustedLaunch',
    'TrustedLaunchSupported',
    'TrustedLaunchAndConfidentialVMSupported',
    'Standard',
    'True',
    'False',
  ].map((value) => [value.toLowerCase(), value]),
);
function spelled(feature: Json): Json {
  const value = textAt(feature, 'value') ?? '';
  return { ...feature, value: featureValues.get(value.toLowerCase()) ?? value };
}

/** Publisher, offer and sku together name one definition of a gallery. */
function checkIdentifier({ face, address }: Call, properties: Json): void {
  const identifier = part(properties, 'identifier');
  for (const name of ['publisher', 'offer', 'sku']) {
    if (textAt(identifier, name) === undefined) {
      throw invalidParameter(
        `identifier.${name}`,
        `Required parameter 'identifier.${name}' is missing (null).`,
      );
    }
  }
  const key = (value: Json) =>
    ['publisher', 'offer', 'sku']
      .map((name) => textAt(value, name))
      .join('/')
      .toLowerCase();
  const others = face.documents.inside(address.id.split('/').slice(0, -1).join('/'));
  const twin = others.find(
    (one) =>
      one.name.toLowerCase() !== ownName(address).toLowerCase() &&
      key(part(one.body, 'properties', 'identifier')) === key(identifier),
  );
  if (twin === undefined) return;
  throw invalidParameter(
    'identifier',
    `Gallery image '${twin.name}' already has the same publisher, offer and sku.`,
  );
}

async function remove(call: Call): Promise<Reply> {
  await forgetDeleted(call);
  requireEmpty(call, 'versions');
  const model = modelNames(call.address);
  await call.face.cloud.galleries.open(model.gallery).deleteImage(model.image, modelCall);
  return deleteLater(call, 'capsOperations', workMs);
}
