// Azure as a provider: galleries, and what versions in them are made from. Nothing is asked of Azure until a role is
// used.
import { createTurns } from '../../async/keyed-mutex.ts';
import { regionNames } from '../../domain/azure/regions.ts';
import type { Clock } from '../../ports/clock.ts';
import type { NodeAccess } from '../../ports/provider/access.ts';
import type { Disks } from '../../ports/provider/disks.ts';
import type { Galleries, Gallery } from '../../ports/provider/gallery.ts';
import type { NodeConfigs } from '../../ports/provider/node-configs.ts';
import type { Pools } from '../../ports/provider/pools.ts';
import type { Abilities, Provider } from '../../ports/provider/provider.ts';
import { ArmClient } from './arm/client.ts';
import { OperationBook } from './arm/operation-book.ts';
import { openTransport } from './arm/transport.ts';
import { type AzureContext, Listings, type SealedDisks } from './context.ts';
import { azureDisks } from './disk/disks.ts';
import { sweepUploads } from './disk/upload.ts';
import { azureGalleries, azureGallery } from './gallery/galleries.ts';
import { azureAccess } from './pool/node-access.ts';
import { azureNodeConfigs } from './pool/node-configs.ts';
import { azurePools } from './pool/pools.ts';
import type { SignInWay } from './sign-in/options.ts';
import { openSignIn } from './sign-in/sign-in.ts';

export interface AzureOptions {
  readonly subscription: string;
  readonly group: string;
  /** `westeurope`. */
  readonly location: string;
  /** The gallery that versions go to unless another is named. It is made with its first image. */
  readonly gallery: string;
  /** Of an emulator; absent: Azure itself. */
  readonly endpoint?: string | undefined;
  /** The certificate authority of an emulator, in PEM form. */
  readonly ca?: string | undefined;
  readonly signIn?: SignInWay | undefined;
  /** The id of the subnet of new scale sets. */
  readonly subnet?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Where operations that are in progress are noted; absent: in memory. */
  readonly operationsFile?: string | undefined;
  readonly sealedDisks: SealedDisks;
  readonly onCall?: ((permission: string) => void) | undefined;
  /** Work in the background that failed; it leaves at most an uploaded disk, which is deleted after a day. */
  readonly onTrouble?: ((error: unknown) => void) | undefined;
}

export interface AzureProvider extends Provider {
  readonly gallery: Gallery;
  readonly galleries: Galleries;
  readonly pools: Pools;
  readonly nodeConfigs: NodeConfigs;
  readonly access: NodeAccess;
  readonly disks: Disks;
  /** Signs in, reads the resource group's galleries, and returns how it signed in. */
  check(signal: AbortSignal): Promise<string>;
  /** Deletes disks that were uploaded more than a day ago and that no version is made from. */
  sweep(signal: AbortSignal): Promise<void>;
}

const publicEndpoint = 'https://management.azure.com';
const realHosts = [
  publicEndpoint,
  'https://management.usgovcloudapi.net',
  'https://management.chinacloudapi.cn',
];
const authority = 'https://login.microsoftonline.com';

export function openAzure(options: AzureOptions): AzureProvider {
  const { clock, location, env } = options;
  const endpoint = (options.endpoint ?? publicEndpoint).replace(/\/+$/, '');
  const isReal = realHosts.includes(endpoint);
  const closing = new AbortController();
  const background = new Set<Promise<void>>();
  const transport = openTransport(options.ca);
  const signIn = openSignIn({
    ...{ transport, clock, env, way: options.signIn, resource: endpoint },
    authority: env.AZURE_AUTHORITY_HOST || (isReal ? authority : endpoint),
  });
  const { subscription, group, onCall } = options;
  const arm = new ArmClient({
    ...{ endpoint, subscription, group, transport, clock },
    token: (signal) => signIn.token(signal),
    ...(onCall === undefined ? {} : { onCall }),
  });
  function later(work: (closing: AbortSignal) => Promise<void>): void {
    const running = work(closing.signal).catch((error: unknown) => {
      if (!closing.signal.aborted) options.onTrouble?.(error);
    });
    background.add(running);
    running.finally(() => background.delete(running));
  }
  const context: AzureContext = {
    ...{ arm, transport, clock, location, later },
    book: new OperationBook(options.operationsFile, () => clock.now()),
    listings: new Listings(() => clock.now()),
    regions: [location, ...[...regionNames.keys()].filter((name) => name !== location)],
    ownGallery: options.gallery,
    subnet: options.subnet,
    sealedDisks: options.sealedDisks,
    uploads: new Map(),
    inTurn: createTurns(),
  };
  return {
    name: 'azure',
    abilities: abilitiesOf(context, isReal),
    clock,
    gallery: azureGallery(context, options.gallery),
    galleries: azureGalleries(context),
    pools: azurePools(context),
    nodeConfigs: azureNodeConfigs(context),
    access: azureAccess(context),
    disks: azureDisks(context),
    sweep: (signal) => sweepUploads(context, signal),
    async check(signal) {
      const way = await signIn.check(signal);
      await context.arm.list({ type: 'galleries', names: [] }, signal);
      return way;
    },
    async close() {
      closing.abort();
      await Promise.all(background);
      transport.close();
    },
  };
}

function abilitiesOf({ regions }: AzureContext, isReal: boolean): Abilities {
  return {
    orchestration: ['uniform', 'flexible'],
    reimage: true,
    upgrade: true,
    protect: true,
    ownConfigs: ['flexible'],
    diskChecks: 'azure',
    regions,
    excludeFromLatest: true,
    deletionGuard: true,
    galleryDigest: false,
    snapshots: true,
    runCommand: false,
    fencing: false,
    simulated: false,
    ...(isReal ? {} : { emulated: true }),
    ownClock: false,
  };
}
