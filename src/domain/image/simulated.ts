// Keeps what a simulation made apart from what is real. An image is the one or the other from its first version on.
import { ImagoError } from '../error/imago-error.ts';

type Mark = true | undefined;

/** The error for something that would join an image, channel or provider of the other kind. */
export function mixed(what: string, simulated: Mark, other: string): ImagoError {
  const [one, two] = simulated ? ['simulated', 'real'] : ['real', 'simulated'];
  return new ImagoError('simulation-mixed', `${what} is ${one}, and ${other} is ${two}.`);
}

/** Throws `simulation-mixed` if a version of this kind cannot be added to the image. */
export function requireSameKind(
  image: { readonly name: string; readonly simulated?: Mark },
  simulated: Mark,
): void {
  if (image.simulated === simulated) return;
  throw mixed('The new version', simulated, `image ${image.name}`);
}
