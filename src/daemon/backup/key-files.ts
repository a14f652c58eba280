// The files with keys that a backup can carry: signing keys with their keyring, and the webhook key. Their names are
// fixed, so that a backup cannot write any other file.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupFile } from '../../database/backup/format.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode, writeFileDurably } from '../../host/files/durable-files.ts';
import { keyFolder } from '../../oci/signatures/key-folder.ts';
import { adoptKeys, parseKeyring } from '../../oci/signatures/keyring.ts';
import { webhookKeyBytes } from '../webhook/key.ts';

const webhookKey = 'webhook.key';
const keyring = 'keys/keyring.json';
const privateKey = /^keys\/([0-9a-f]{16})\.pem$/;

export async function readKeyFiles(home: string): Promise<readonly BackupFile[]> {
  const names = ((await readdir(join(home, 'keys')).catch(noFile)) ?? []).map((name) => `keys/${name}`);
  const files: BackupFile[] = [];
  for (const name of [webhookKey, keyring, ...names.filter((one) => privateKey.test(one))]) {
    const data = await readFile(join(home, name)).catch(noFile);
    if (data !== undefined) files.push({ name, data: data.toString('base64') });
  }
  return files;
}

/**
 * Writes them into the state directory. Throws `backup-invalid` for any other file, and `restore-not-empty` if this
 * installation has signing keys of its own. A dry run only checks. Calling it again has no effect.
 */
export async function writeKeyFiles(
  home: string,
  files: readonly BackupFile[],
  dryRun = false,
): Promise<void> {
  const privateKeys = new Map<string, Buffer>();
  let [ring, webhook]: (Buffer | undefined)[] = [];
  for (const { name, data } of files) {
    const bytes = Buffer.from(data, 'base64');
    const id = privateKey.exec(name)?.[1];
    if (id !== undefined) privateKeys.set(id, bytes);
    else if (name === keyring) ring = bytes;
    else if (name === webhookKey && bytes.length === webhookKeyBytes) webhook = bytes;
    else
      throw new ImagoError(
        'backup-invalid',
        `The backup has a key file ${JSON.stringify(name)}, which is not valid.`,
      );
  }
  const keys = keyFolder(join(home, 'keys'));
  const adopted = ring === undefined ? undefined : parseKeyring(ring.toString());
  if (adopted !== undefined) adoptKeys(await keys.keyring(), adopted);
  if (dryRun) return;
  if (adopted !== undefined) await keys.adopt(adopted, privateKeys);
  if (webhook !== undefined) {
    const path = join(home, webhookKey);
    await writeFileDurably(path, webhook);
  }
}

function noFile(error: unknown): undefined {
  if (systemCode(error) !== 'ENOENT') throw error;
}
