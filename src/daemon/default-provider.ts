// Which provider answers when nobody names one.
import { ImagoError } from '../domain/error/imago-error.ts';
import type { ProviderName } from '../ports/provider/provider.ts';
import { qemuName } from './doctor/machines.ts';
import { findProgram } from './doctor/probe.ts';

/** Providers that a daemon can have today. */
export const knownProviders: readonly ProviderName[] = ['local', 'sim'];

export function readProviderName(name: string): ProviderName {
  const known = knownProviders.find((one) => one === name);
  if (known !== undefined) return known;
  throw new ImagoError('provider-unknown', `There is no provider ${name} here.`, {
    hint: `There are: ${knownProviders.join(', ')}.`,
  });
}

/** Machines can be started here: otherwise the local provider only builds. */
export function canRunMachines(find: (program: string) => string | undefined = findProgram): boolean {
  return find(qemuName()) !== undefined && find('qemu-img') !== undefined;
}

/** `local` where its programs are installed, and the simulation elsewhere. */
export function defaultProvider(find?: (program: string) => string | undefined): ProviderName {
  return canRunMachines(find) ? 'local' : 'sim';
}
