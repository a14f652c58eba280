// Lists the inputs that a build needs: those of the layers that are not in the cache, and the tools unless they are
// unpacked already. The inputs of a finished layer need not exist.
import { componentInputs, inputsOf, type Lock, type LockedInput, packagesIn } from '../domain/lock/lock.ts';
import type { BuildContext } from './builder-context.ts';
import { hasTools } from './layers/locked-tools.ts';
import type { PlannedLayer } from './layers/plan.ts';
import { agentName } from './lock/parts.ts';

export async function neededInputs(
  context: Pick<BuildContext, 'layers' | 'cacheFolder'>,
  lock: Lock,
  plan: readonly PlannedLayer[],
): Promise<readonly LockedInput[]> {
  const needed = new Set<LockedInput>();
  for (const layer of plan) {
    if ((await context.layers.find(layer.key)) !== undefined) continue;
    for (const input of layerInputs(layer, lock)) needed.add(input);
  }
  if (!(await hasTools(context.cacheFolder, lock)))
    for (const input of packagesIn(lock, 'tools')) needed.add(input);
  return [...needed];
}

/** What goes into one layer. */
export function layerInputs({ kind, component, packages }: PlannedLayer, lock: Lock): readonly LockedInput[] {
  switch (kind) {
    case 'base':
      return packagesIn(lock, 'base');
    case 'packages':
      return packages ?? [];
    case 'trust':
      return inputsOf(lock, 'config');
    case 'component':
      return [
        ...(component === undefined ? [] : componentInputs(component, lock.inputs)).flatMap(({ input }) =>
          input === undefined || input.kind === 'package' ? [] : [input],
        ),
        ...inputsOf(lock, 'config'),
      ];
    case 'images':
      return inputsOf(lock, 'container-image');
    case 'machine':
      return [];
    case 'configuration':
      return [...inputsOf(lock, 'config'), ...lock.inputs.filter(({ name }) => name === agentName)];
  }
}
