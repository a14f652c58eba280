// What a machine can show to prove which one it is: signed by the host, with what the asker gave so that it is fresh.
import { type Answer, jsonAnswer } from './answer.ts';
import type { DocumentSigner } from './document-signer.ts';
import type { MachineMetadata } from './machine-metadata.ts';

const VALID_MS = 6 * 60 * 60_000;

export function attestedAnswer(
  nonce: string | null,
  { machineId }: MachineMetadata,
  subscriptionId: string,
  signer: DocumentSigner,
  nowMs: number,
): Answer {
  const document = JSON.stringify({
    licenseType: '',
    nonce: nonce ?? dateNonce(new Date(nowMs)),
    plan: { name: '', product: '', publisher: '' },
    sku: '',
    subscriptionId,
    timeStamp: { createdOn: written(new Date(nowMs)), expiresOn: written(new Date(nowMs + VALID_MS)) },
    vmId: machineId,
  });
  return jsonAnswer(200, { encoding: 'pkcs7', signature: signer.sign(document).toString('base64') });
}

/** Without a nonce, the time stands for it. */
function dateNonce(at: Date): string {
  const digits = at.toISOString().replace(/\D/g, '');
  return `${digits.slice(0, 8)}-${digits.slice(8, 14)}`;
}

/** As in `11/28/18 00:16:17 -0000`. */
function written(at: Date): string {
  const [year = '', month, day, time = ''] = at.toISOString().split(/[-T.]/);
  return `${month}/${day}/${year.slice(2)} ${time} -0000`;
}
