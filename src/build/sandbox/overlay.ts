// Whether this machine can lay one folder over another inside the sandbox. Where it cannot, whole trees are
// unpacked and compared instead, which gives the same layers, only slower.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { ownedName } from '../../host/process/owned-name.ts';
import type { Sandbox } from './sandbox.ts';
import { workMount } from './stages.ts';

const script = `
cd ${workMount}
mkdir lower upper work merged
echo below >lower/file
mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work,userxattr merged
rm merged/file
[ -c upper/file ]
`;

export async function canOverlay(sandbox: Sandbox, folder: string, signal?: AbortSignal): Promise<boolean> {
  const place = join(folder, ownedName('overlay-'));
  await mkdir(place, { recursive: true });
  try {
    await sandbox.run({ what: 'Trying an overlay', script, folder: place, signal });
    return true;
  } catch (error) {
    if (error instanceof ImagoError && error.code === 'build-failed') return false;
    throw error;
  } finally {
    await sandbox.remove(place);
  }
}
