// Opens the Azure provider if the settings turn it on. Its code is loaded only then.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../domain/settings/settings.ts';
import { systemClock } from '../../host/system-clock.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import type { AzureProvider } from '../../providers/azure/provider.ts';

export interface OpenAzureOptions {
  readonly settings: Settings;
  /** The state directory. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly store: () => Promise<DiskStore>;
  readonly onTrouble: (error: unknown) => void;
}

const needed = ['azure-subscription', 'azure-resource-group', 'azure-location'] as const;

/** Returns the settings that are missing; `undefined` if none of them is set. */
export function missingAzureSettings(settings: Settings): readonly string[] | undefined {
  const missing = needed.filter((name) => settings[name] === undefined);
  return missing.length === needed.length ? undefined : missing;
}

export async function openAzureProvider(options: OpenAzureOptions): Promise<AzureProvider | undefined> {
  const { settings, home, env, store, onTrouble } = options;
  const { 'azure-subscription': subscription, 'azure-resource-group': group } = settings;
  const { 'azure-location': location, 'azure-ca': ca } = settings;
  if (subscription === undefined || group === undefined || location === undefined) return undefined;
  const { openAzure } = await import('../../providers/azure/provider.ts');
  return openAzure({
    ...{ subscription, group, location, env, onTrouble },
    gallery: settings['azure-gallery'] ?? 'imago',
    endpoint: settings['azure-endpoint'],
    ca: ca === undefined ? undefined : readFileSync(ca, 'utf8'),
    subnet: settings['azure-subnet'],
    signIn: settings['azure-sign-in'],
    clock: systemClock,
    operationsFile: join(home, 'azure', 'operations.json'),
    sealedDisks: {
      async open(diskDigest) {
        const [{ findDisk }, { openDisk }] = await Promise.all([
          import('../../oci/disks/find-disk.ts'),
          import('../../oci/disks/open-disk.ts'),
        ]);
        const disks = await store();
        const found = await findDisk(disks, diskDigest);
        return found && openDisk(disks, found.digest);
      },
    },
  });
}
