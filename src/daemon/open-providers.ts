// Opens the providers. A provider is its directory in src/providers, its name in src/domain/pool/record.ts, and its line
// in `openProviders`.
import { join } from 'node:path';
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import { addressGuard } from '../host/network/address-guard.ts';
import type { Provider, ProviderName } from '../ports/provider/provider.ts';
import { createSimProvider, type SimProvider } from '../providers/sim/provider.ts';
import type { Background } from './background.ts';
import { missingMachineTools } from './doctor/machines.ts';
import type { DaemonEnvironment } from './environment.ts';
import { openAzureProvider } from './providers/azure.ts';
import { builderProvider } from './providers/builder-provider.ts';
import type { Images } from './providers/images.ts';
import { closeLocal, openLocal } from './providers/local-machines.ts';
import { openRegistry } from './providers/registry.ts';

interface Parts {
  readonly environment: DaemonEnvironment;
  readonly images: Images;
  readonly background: Background;
}

export interface OpenProviders {
  readonly providers: ReadonlyMap<ProviderName, Provider>;
  readonly sim: SimProvider;
}

/** Opens every provider that the settings turn on. No failure of one prevents the daemon from starting. */
export async function openProviders(parts: Parts): Promise<OpenProviders> {
  const sim = openSim(parts.environment);
  const opened: Readonly<Record<ProviderName, Provider | undefined>> = {
    sim,
    local: await openLocalProvider(parts),
    azure: await openAzure(parts),
    registry: await openRegistryGallery(parts),
  };
  const providers = new Map<ProviderName, Provider>();
  for (const provider of Object.values(opened)) if (provider) providers.set(provider.name, provider);
  return { providers, sim };
}

/** The settings that turn on a provider. */
const settingsOf: Readonly<Record<string, string>> = {
  azure: 'azure-subscription, azure-resource-group and azure-location',
  registry: 'registry-regions',
};

export function requireProvider(providers: ReadonlyMap<string, Provider>, name: string): Provider {
  const found = providers.get(name);
  if (found !== undefined) return found;
  throw new ImagoError('provider-unknown', `Provider ${name} not found.`, {
    hint:
      settingsOf[name] !== undefined
        ? `Set ${settingsOf[name]} with \`imago config set\`, then restart the daemon.`
        : `The providers are ${[...providers.keys()].join(', ')}.`,
  });
}

/** Opens the simulation, which outlives the daemon. With IMAGO_SIM_WORLD, the daemons of one database share it. */
function openSim({ paths, processEnv, options }: DaemonEnvironment): SimProvider {
  const { 'time-scale': timeScale } = options.settings;
  return createSimProvider({
    file: processEnv.env.IMAGO_SIM_WORLD || join(paths.home, 'sim', 'world.db'),
    ...(timeScale === undefined ? {} : { timeScale }),
  });
}

/** A host that cannot start machines can still build disks. */
async function openLocalProvider({ environment, images, background }: Parts): Promise<Provider> {
  const { runtime, processEnv, log } = environment;
  const { home } = environment.paths;
  const missing = missingMachineTools();
  if (missing !== undefined) return builderProvider(images.builder, missing);
  try {
    const local = await openLocal({
      home,
      socketFolder: runtime.machineFolder,
      processEnv,
      store: await images.store(),
      builder: images.builder,
      onTrouble(what, error) {
        log.warn(what, { error });
        const message = `The local provider has failed (${what}): ${ensureImagoError(error).message}`;
        background.report('local', { kind: 'local-work', subject: `local/${what}`, message });
      },
      onRepaired: (what) => background.repaired('local', `local/${what}`),
    });
    return { ...local, close: () => closeLocal(local, home) };
  } catch (error) {
    log.error('the local provider cannot start machines', { error });
    const { message: why } = ensureImagoError(error);
    const message = `The local provider cannot start machines: ${why}`;
    background.report('local', { kind: 'provider-unavailable', subject: 'provider/local', message });
    return builderProvider(images.builder, `${why} Repair it and restart the daemon.`);
  }
}

async function openRegistryGallery({
  environment,
  images,
  background,
}: Parts): Promise<Provider | undefined> {
  const { paths, processEnv, options, log } = environment;
  const { 'registry-regions': regions } = options.settings;
  if (regions === undefined) return undefined;
  try {
    return await openRegistry({
      ...{ home: paths.home, env: processEnv.env, regions, store: images.store },
      guard: addressGuard(options.addresses),
      onTrouble(what, error) {
        log.warn(`the registry gallery failed (${what})`, { error });
        const message = `The registry gallery has failed (${what}): ${ensureImagoError(error).message}`;
        background.report('registry', { kind: 'local-work', subject: `registry/${what}`, message });
      },
      onRepaired: (what) => background.repaired('registry', `registry/${what}`),
    });
  } catch (error) {
    const message = `The registry provider cannot be used: ${ensureImagoError(error).message}`;
    background.report('registry', { kind: 'provider-unavailable', subject: 'provider/registry', message });
    return undefined;
  }
}

async function openAzure({ environment, images, background }: Parts): Promise<Provider | undefined> {
  const { paths, processEnv, options, log } = environment;
  const { home } = paths;
  const { settings } = options;
  const onTrouble = (error: unknown) => log.warn('work for Azure failed', { error });
  try {
    return await openAzureProvider({ settings, home, env: processEnv.env, store: images.store, onTrouble });
  } catch (error) {
    const message = `The azure provider cannot be used: ${ensureImagoError(error).message}`;
    background.report('azure', { kind: 'provider-unavailable', subject: 'provider/azure', message });
    return undefined;
  }
}
