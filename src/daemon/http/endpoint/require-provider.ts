// Finds a loaded provider by its name.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Provider } from '../../../ports/provider/provider.ts';
import type { DaemonContext } from './context.ts';

/** Throws `provider-unknown`. */
export function requireProvider(
  { providers }: Pick<DaemonContext, 'providers'>,
  name: string | undefined,
): Provider {
  const found = [...providers.values()].find((provider) => provider.name === name);
  if (found !== undefined) return found;
  throw new ImagoError('provider-unknown', `There is no provider ${name} here.`, {
    hint: `There are: ${[...providers.keys()].join(', ')}.`,
  });
}
