// Boot diagnostics: the addresses of a machine's screen and serial console. A simulated machine has no console of its own:
// what its agent would write there is made from its report.
import { toFrames } from '../../domain/node/console-frame.ts';
import { type NodeWords, splitWords } from '../../domain/node-config/words.ts';
import { ArmError } from '../arm/arm-error.ts';
import { type Document, stableId } from '../arm/documents.ts';
import type { Call, Face, Routes } from '../arm/face.ts';
import { part } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { readHost } from './host.ts';
import { requireInstance } from './instances.ts';
import { requireMachine } from './virtual-machines.ts';

const defaultMinutes = 120;
const mostMinutes = 1440;
/** The size of the log that Azure keeps. */
const longestLog = 2 ** 20;

export const bootDiagnosticsRoutes: Routes = {
  'POST virtualmachines/retrievebootdiagnosticsdata': {
    budget: ['HighCostGetSubscriptionMaximum', 900],
    answer: async (call) => retrieve(call, await requireMachine(call, ownerOf(call.address).id)),
  },
  'POST virtualmachinescalesets/virtualmachines/retrievebootdiagnosticsdata': {
    budget: ['VMScaleSetVMViewsSubscriptionMaximum', 30_000],
    answer: async (call) => retrieve(call, await requireInstance(call, ownerOf(call.address).id)),
  },
};

async function retrieve({ face, query, origin }: Call, document: Document): Promise<Reply> {
  if (part(document.body, 'properties', 'diagnosticsProfile', 'bootDiagnostics').enabled !== true) {
    throw new ArmError(
      409,
      'OperationNotAllowed',
      `Boot diagnostics is not enabled for the virtual machine '${document.name}'.`,
    );
  }
  const minutes = Number(query.get('sasUriExpirationTimeInMinutes') ?? defaultMinutes);
  if (!(minutes >= 1 && minutes <= mostMinutes)) {
    throw new ArmError(400, 'InvalidParameter', 'sasUriExpirationTimeInMinutes must be from 1 to 1440.');
  }
  const id = stableId(document.id, String(document.own?.machineId ?? document.own?.machine));
  const folder = `/md-diagnostics/bootdiagnostics-${id}`;
  const address = (name: string, read: () => Promise<Buffer>) => {
    const path = `${folder}/${document.name}.${id}.${name}`;
    face.blobs.live.set(path, read);
    return `${origin}${path}?${face.blobs.grant(path, false, minutes * 60)}`;
  };
  return {
    status: 200,
    body: {
      consoleScreenshotBlobUri: address('screenshot.bmp', async () => Buffer.alloc(0)),
      serialConsoleLogBlobUri: address('serialconsole.log', () => serialLog(face, document)),
    },
  };
}

/** A simulated machine does not write what its agent says, and runs a script when its console is read. */
async function serialLog(face: Face, { id }: Document): Promise<Buffer> {
  const document = face.documents.get(id);
  if (document === undefined) return Buffer.alloc(0);
  const host = await readHost(face, document.own ?? {}).catch(() => undefined);
  if (host === undefined) return Buffer.alloc(0);
  const { lines, report, userData } = await face.cloud.world.said(host.machineId);
  const { command } = splitWords(userData).words;
  const answer = command && (await answerTo(face, document, host.machineId, command));
  const said = [
    ...lines,
    ...(report === undefined ? [] : toFrames('report', JSON.stringify(report))),
    ...(answer === undefined ? [] : toFrames('answer', answer)),
  ];
  const text = Buffer.from(said.map((line) => `${line}\r\n`).join(''));
  return text.subarray(Math.max(0, text.length - longestLog));
}

async function answerTo(
  face: Face,
  document: Document,
  machineId: string,
  { id, ...command }: NonNullable<NodeWords['command']>,
): Promise<string | undefined> {
  const before = part(document.own, 'answered');
  if (before.id === id) return String(before.text);
  try {
    const text = JSON.stringify({ id, ...(await face.cloud.world.run(machineId, command)) });
    const now = face.documents.get(document.id) ?? document;
    face.documents.set({ ...now, own: { ...now.own, answered: { id, text } } });
    return text;
  } catch {
    // It does not listen yet.
    return undefined;
  }
}
