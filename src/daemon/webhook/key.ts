// What the secrets of webhooks are made with: a key in the daemon's own folder, so that neither the database nor a
// backup of it is enough to sign in our name.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KeptWebhook } from '../../ports/database/webhooks.ts';

export interface WebhookKey {
  /** Names the key without telling it. */
  readonly id: string;
  newSalt(): string;
  /** As Standard Webhooks writes it: `whsec_` and base64. `webhook-key-missing` when another key made it. */
  secretOf(webhook: Pick<KeptWebhook, 'name' | 'salt' | 'keyId'>): string;
}

export const webhookKeyBytes = 32;

/** Makes the key when there is none; of two that do so at once, both have the same in the end. */
export async function openWebhookKey(home: string): Promise<WebhookKey> {
  const file = join(home, 'webhook.key');
  const key = (await readKey(file)) ?? (await makeKey(file));
  const id = createHash('sha256').update('imago webhook key\0').update(key).digest('hex').slice(0, 16);
  return {
    id,
    newSalt: () => randomBytes(16).toString('base64'),
    secretOf({ name, salt, keyId }) {
      if (keyId !== id) {
        throw new ImagoError('webhook-key-missing', `The secret of webhook ${name} was made elsewhere.`);
      }
      return `whsec_${createHmac('sha256', key).update(salt).digest('base64')}`;
    },
  };
}

async function readKey(file: string): Promise<Buffer | undefined> {
  const key = await readFile(file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined;
    throw thrown;
  });
  if (key === undefined || key.length === webhookKeyBytes) return key;
  throw new ImagoError('webhook-key-missing', `${file} is not a key: it has ${key.length} bytes.`);
}

async function makeKey(file: string): Promise<Buffer> {
  const fresh = `${file}.${randomBytes(6).toString('hex')}.new`;
  const written = await open(fresh, 'wx', 0o600);
  try {
    await written.writeFile(randomBytes(webhookKeyBytes));
    await written.sync();
  } finally {
    await written.close();
  }
  await link(fresh, file).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code !== 'EEXIST') throw thrown;
  });
  await rm(fresh, { force: true });
  const key = await readKey(file);
  if (key === undefined) throw new ImagoError('internal', `${file} vanished while it was made.`);
  return key;
}
