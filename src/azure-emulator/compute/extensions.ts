// Extensions of machines and scale sets: made, shown and deleted as work that takes a while. Their settings do nothing.
import { type Document, shown } from '../arm/documents.ts';
import type { Call, Route, Routes } from '../arm/face.ts';
import { type Json, merge, part } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import {
  accepted,
  deleteLater,
  documentOf,
  getDocument,
  page,
  readLocation,
  requireDocument,
  requireParent,
  timed,
  topFields,
} from '../arm/resource.ts';

const workMs = 30_000;
const types = [
  'virtualMachines/extensions',
  'virtualMachineScaleSets/extensions',
  'virtualMachineScaleSets/virtualMachines/extensions',
];

export const extensionRoutes: Routes = Object.fromEntries(types.flatMap(routesOf));

function routesOf(type: string): readonly (readonly [string, Route])[] {
  const at = type.toLowerCase();
  const patch = (call: Call) => {
    const { body, location } = requireDocument(call);
    return put({ ...call, body: { ...merge(body, call.body), location } }, type);
  };
  return [
    [`PUT ${at}/*`, { answer: (call) => put(call, type) }],
    [`PATCH ${at}/*`, { answer: patch }],
    [`GET ${at}/*`, { answer: getDocument }],
    [
      `GET ${at}`,
      {
        async answer(call) {
          requireDocument(call, call.address.id.split('/').slice(0, -1).join('/'));
          return page(
            call,
            extensionsOf(call, call.address.id).map((one) => shown(one)),
          );
        },
      },
    ],
    [`DELETE ${at}/*`, { answer: async (call) => deleteLater(call, 'operations', workMs) }],
  ];
}

export function extensionsOf({ face }: Pick<Call, 'face'>, list: string): readonly Document[] {
  return face.documents.inside(list);
}

async function put(call: Call, type: string): Promise<Reply> {
  const { face, body } = call;
  const parent = requireParent(call);
  const known = face.documents.get(call.address.id);
  // One of a scale set is a part of its model, and has no region of its own.
  const isOfSet = type === 'virtualMachineScaleSets/extensions';
  const location = isOfSet ? '' : readLocation({ location: parent.location, ...body }, known);
  const { protectedSettings: _, ...given } = part(body, 'properties');
  const properties: Json = { autoUpgradeMinorVersion: false, ...given };
  const until = face.clock.now() + workMs;
  const state = known === undefined ? 'Creating' : 'Updating';
  const document: Document = {
    ...documentOf(call, type, location, { ...topFields(body, []), properties }),
    work: { state, until },
  };
  face.documents.set(document);
  const work = {
    poll: 'operations',
    location: parent.location,
    monitored: false,
    state: timed(call, until),
  } as const;
  return accepted(call, known === undefined ? 201 : 200, work, shown(document));
}
