// Opens the gallery in registries, if the settings name its regions.
import { join } from 'node:path';
import type { AddressGuard } from '../../host/network/address-guard.ts';
import { systemClock } from '../../host/system-clock.ts';
import type { DiskStore } from '../../oci/disks/disk-store.ts';
import { findCredentials } from '../../oci/registry/find-credentials.ts';
import type { Provider } from '../../ports/provider/provider.ts';

export interface OpenRegistryOptions {
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly regions: string;
  readonly guard: AddressGuard;
  readonly store: () => Promise<DiskStore>;
  readonly onTrouble: (what: string, error: unknown) => void;
  readonly onRepaired: (what: string) => void;
}

export async function openRegistry({ home, env, store, ...options }: OpenRegistryOptions): Promise<Provider> {
  const { createRegistryProvider } = await import('../../providers/registry/provider.ts');
  return createRegistryProvider({
    ...options,
    folder: join(home, 'registry'),
    store: await store(),
    clock: systemClock,
    findCredentials: (registry) => findCredentials(registry, env),
  });
}
