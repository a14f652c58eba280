// The recipe: what is on a node. Here are its shape and the rules that no schema can state, each told with the
// place where it is broken; reading YAML and checking the shape is done where the recipe comes in.

import { ImagoError } from './errors.ts';
import type { Json } from './json.ts';
import { nameProblem } from './name.ts';
import { type NumberingPolicy, needsKubernetes } from './numbering.ts';
import { quote } from './quote.ts';
import { destinationProblem, overlap } from './recipe-destination.ts';
import type { Architecture, OperatingSystem } from './version.ts';
import { likelyNumber, readNumber } from './version-number.ts';

export const componentKinds = ['package', 'binary', 'files', 'container-image'] as const;
export type ComponentKind = (typeof componentKinds)[number];

export interface RecipeComponent {
  readonly name: string;
  readonly kind: ComponentKind;
  readonly version: string;
  /** Where it comes from: an address, a file or a folder. Packages and container images know it by their name. */
  readonly source?: string;
  /** Of what the source gives, when the author wants it fixed here and not only in the lock. */
  readonly sha256?: string;
  /** Where a binary or a tree of files goes: an absolute path on the node. */
  readonly destination?: string;
}

export interface Recipe {
  readonly name: string;
  readonly numbering: NumberingPolicy;
  readonly os: OperatingSystem;
  readonly architecture: Architecture;
  /** Needed by the Kubernetes numbering policies. */
  readonly kubernetes?: string;
  readonly components: readonly RecipeComponent[];
  readonly settings: Readonly<Record<string, Json>>;
}

export interface RecipeProblem {
  /** Keys and indices from the recipe's root, for whoever knows lines and columns. */
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly hint?: string;
}

/** Everything that is wrong, in the order of the recipe; empty when it is good. */
export function recipeProblems(recipe: Recipe): readonly RecipeProblem[] {
  return [
    ...nameProblems(recipe),
    ...kubernetesProblems(recipe),
    ...recipe.components.flatMap((component, index) => componentProblems(recipe.os, component, index)),
    ...repeatedComponents(recipe),
    ...sharedDestinations(recipe),
  ];
}

/** Throws `recipe-invalid` with the first problem as its message and all of them in `details`. */
export function checkRecipe(recipe: Recipe): void {
  const problems = recipeProblems(recipe);
  const [first] = problems;
  if (first === undefined) return;
  const others = problems.length === 1 ? '' : ` (and ${problems.length - 1} more)`;
  throw new ImagoError('recipe-invalid', `${first.path.join('.')}: ${first.message}${others}`, {
    ...(first.hint === undefined ? {} : { hint: first.hint }),
    details: { problems },
  });
}

function nameProblems({ name }: Recipe): readonly RecipeProblem[] {
  const problem = nameProblem('image', name);
  return problem === undefined ? [] : [{ path: ['name'], message: `${quote(name)} ${problem}` }];
}

function kubernetesProblems({ kubernetes, numbering }: Recipe): readonly RecipeProblem[] {
  if (kubernetes === undefined) {
    if (!needsKubernetes(numbering)) return [];
    return [
      {
        path: ['numbering'],
        message: `the policy ${numbering} needs a Kubernetes version`,
        hint: 'Add `kubernetes: 1.34.2`, or choose another numbering policy.',
      },
    ];
  }
  if (readNumber(kubernetes.replace(/^v/, '')) !== undefined) return [];
  const likely = likelyNumber(kubernetes);
  return [
    {
      path: ['kubernetes'],
      message: `${quote(kubernetes)} is not a Kubernetes version`,
      ...(likely === undefined ? {} : { hint: `Did you mean \`${likely}\`?` }),
    },
  ];
}

function componentProblems(
  os: OperatingSystem,
  component: RecipeComponent,
  index: number,
): readonly RecipeProblem[] {
  const problems: RecipeProblem[] = [];
  const say = (key: keyof RecipeComponent, message: string) =>
    problems.push({
      path: ['components', index, key],
      message: `${component.name || 'a component'}: ${message}`,
    });
  const placed = component.kind === 'binary' || component.kind === 'files';
  for (const key of ['name', 'version', 'source'] as const) {
    if (component[key]?.trim() === '') say(key, `its ${key} is empty`);
  }
  if (placed && component.source === undefined)
    say('source', `a component of kind ${component.kind} needs a source`);
  if (component.sha256 !== undefined && !/^[0-9a-f]{64}$/.test(component.sha256)) {
    say('sha256', 'its sha256 is not 64 lower-case hexadecimal digits');
  }
  if (component.destination === undefined) {
    if (placed) say('destination', `a component of kind ${component.kind} needs a destination`);
    return problems;
  }
  const problem = placed
    ? destinationProblem(os, component.destination)
    : `a component of kind ${component.kind} decides itself where it goes`;
  if (problem !== undefined) say('destination', problem);
  return problems;
}

function repeatedComponents({ components }: Recipe): readonly RecipeProblem[] {
  const seen = new Set<string>();
  return components.flatMap(({ kind, name, version }, index) => {
    const key = JSON.stringify([kind, name, version]);
    if (seen.has(key)) {
      return [{ path: ['components', index], message: `the ${kind} ${name} ${version} is listed twice` }];
    }
    seen.add(key);
    return [];
  });
}

function sharedDestinations({ os, components }: Recipe): readonly RecipeProblem[] {
  return components.flatMap((component, index) => {
    const { destination } = component;
    if (destination === undefined || destinationProblem(os, destination) !== undefined) return [];
    const other = components.slice(0, index).find((earlier) => overlap(os, earlier, component));
    if (other === undefined) return [];
    return [
      {
        path: ['components', index, 'destination'],
        message: `${component.name} and ${other.name} would stand on one path: ${destination} and ${other.destination}`,
      },
    ];
  });
}
