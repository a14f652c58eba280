// Derives the secrets of webhooks from a key in the state directory, so that the database or a backup of it is not enough
// to sign deliveries.
import { createHash, createHmac, randomBytes } from 'node:crypto';
import { link, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KeptWebhook } from '../../ports/database/webhooks.ts';

export interface WebhookKey {
  /** Identifies the key without disclosing it. */
  readonly id: string;
  newSalt(): string;
  /** Returns the secret as in Standard Webhooks. Throws `webhook-key-missing` if it was derived from another key. */
  secretOf(webhook: Pick<KeptWebhook, 'name' | 'salt' | 'keyId'>): string;
}

export const webhookKeyBytes = 32;

/** Creates the key if there is none. Two concurrent callers get the same key. */
export async function openWebhookKey(home: string): Promise<WebhookKey> {
  const file = join(home, 'webhook.key');
  const key = (await readKey(file)) ?? (await makeKey(file));
  const id = createHash('sha256').update('imago webhook key\0').update(key).digest('hex').slice(0, 16);
  return {
    id,
    newSalt: () => randomBytes(16).toString('base64'),
    secretOf({ name, salt, keyId }) {
      if (keyId !== id) {
        throw new ImagoError(
          'webhook-key-missing',
          `The secret of webhook ${name} was derived from another key.`,
        );
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
  // Webhooks that need the lost key report that; the others, and the daemon, work.
  await rename(file, `${file}.invalid`);
  return undefined;
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
  if (key === undefined) throw new ImagoError('internal', `${file} disappeared while it was created.`);
  return key;
}
