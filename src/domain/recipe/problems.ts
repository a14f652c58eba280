// The rules of a recipe that no schema can state, each told with the place where it is broken. They are for an
// expanded recipe: one Kubernetes version, no variables left.
import { ImagoError } from '../error/imago-error.ts';
import { needsKubernetes } from '../image/numbering.ts';
import { likelyNumber, readNumber } from '../image/version-number.ts';
import { nameProblem } from '../value/name.ts';
import { quote } from '../value/quote.ts';
import { type WordKind, wordProblem } from '../value/word.ts';
import { componentProblems } from './component-problems.ts';
import { localPathProblem, localPaths } from './local-path.ts';
import { placeProblems } from './places.ts';
import { type RecipeProblem, repeated } from './problem.ts';
import {
  type Recipe,
  type RecipeComponent,
  type RecipeImage,
  type RecipePackage,
  type RecipeWindows,
  sourceKind,
  sourceOf,
  versionsOf,
  withoutPlace,
} from './recipe.ts';
import { settingsProblems } from './settings-problems.ts';
import { substitute } from './variables.ts';
import { patchProblem, plannedBuild } from './windows.ts';
import { supportProblem } from './windows-support.ts';

export type { RecipeProblem } from './problem.ts';

/** Everything that is wrong, in the order of the recipe; empty when it is good. */
export function recipeProblems(recipe: Recipe): readonly RecipeProblem[] {
  return [
    ...nameProblems(recipe),
    ...methodProblems(recipe),
    ...kubernetesProblems(recipe),
    ...diskProblems(recipe),
    ...hostileWords(recipe),
    ...repeated(recipe.base?.packages ?? [], ({ name }) => name, ['base', 'packages'], 'package'),
    ...repeated(recipe.packages ?? [], ({ name }) => name, ['packages'], 'package'),
    ...recipe.components.flatMap((component, index) => componentProblems(recipe.os, component, index)),
    ...repeated(recipe.components, (component) => component.name, ['components'], 'component'),
    ...imageProblems(recipe.images ?? []),
    ...settingsProblems(recipe.settings),
    ...windowsProblems(recipe),
    ...repeated(recipe.steps ?? [], (step) => step.name, ['steps'], 'step'),
    ...stepProblems(recipe),
    ...repeated(recipe.tests ?? [], (test) => test.name, ['tests'], 'test'),
    ...expectProblems(recipe),
    ...placeProblems(recipe),
  ];
}

/** Throws `recipe-invalid` with the first problem as its message and all of them in `details`. */
export function checkRecipe(recipe: Recipe): void {
  refuse(recipeProblems(recipe));
}

/** The same for the words alone that reach other programs or name files: also for a recipe that was checked before. */
export function checkWords(recipe: Recipe): void {
  refuse(hostileWords(recipe));
}

function refuse(problems: readonly RecipeProblem[]): void {
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

function methodProblems(recipe: Recipe): readonly RecipeProblem[] {
  const problems: RecipeProblem[] = [];
  const machine = recipe.method === 'machine';
  const say = (key: keyof Recipe, message: string, hint?: string) =>
    problems.push({ path: [key], message, ...(hint === undefined ? {} : { hint }) });
  // A simulated base is neither assembled nor built.
  if (recipe.os === 'windows' && !machine && recipe.settings.sim?.guest === undefined) {
    say('os', 'Windows cannot be assembled offline', 'Add `method: machine`.');
  }
  if (recipe.os !== 'windows' && recipe.windows !== undefined) {
    say('windows', 'is for `os: windows` only');
  }
  if (recipe.os === 'windows') {
    if ((recipe.packages ?? []).length > 0)
      say('packages', 'are Debian packages, and this is a Windows image');
    if (Object.keys(recipe.settings).some((key) => key !== 'sim')) {
      say(
        'settings',
        'are for Linux; a Windows image is set up by `windows.registry` and `windows.services`',
      );
    }
  }
  if (machine && recipe.os === 'linux') problems.push(...machineProblems(recipe));
  if (!machine && recipe.architecture !== 'x64') {
    say(
      'architecture',
      `images for ${recipe.architecture} cannot be assembled: Imago has the boot loaders of x64 alone`,
      'Write `architecture: x64`, or `method: machine` for a provider that builds on a machine of its own.',
    );
  }
  if (machine && recipe.base?.image === undefined) {
    say('base', 'needs an `image` to start the machine from, because of `method: machine`');
  }
  if (!machine && recipe.base?.image !== undefined) say('base', 'has an `image` only with `method: machine`');
  if (!machine && recipe.steps !== undefined) say('steps', 'are run only with `method: machine`');
  return problems;
}

/** What only an assembly does. On a machine, the steps of the recipe do it. */
function machineProblems(recipe: Recipe): readonly RecipeProblem[] {
  const problems: RecipeProblem[] = [];
  const say = (path: RecipeProblem['path'], what: string) =>
    problems.push({
      path,
      message: `${what} only with \`method: assemble\``,
      hint: 'Write a step that does it.',
    });
  if ((recipe.packages ?? []).length > 0) say(['packages'], 'are installed');
  if ((recipe.images ?? []).length > 0) say(['images'], 'are unpacked');
  if (Object.keys(recipe.settings).some((key) => key !== 'sim')) say(['settings'], 'are applied');
  for (const [index, component] of recipe.components.entries()) {
    const path = ['components', index];
    const kind = sourceKind(sourceOf(component));
    if (kind === 'package' || kind === 'oci')
      say([...path, 'from'], `a component is brought from \`${kind}\``);
    for (const key of ['unit', 'config', 'versions', 'pick'] as const)
      if (component[key] !== undefined) say([...path, key], `\`${key}\` is set up`);
  }
  return problems;
}

function kubernetesProblems({ kubernetes, numbering }: Recipe): readonly RecipeProblem[] {
  if (kubernetes !== undefined) return kubernetesProblem(kubernetes, ['kubernetes']);
  if (!needsKubernetes(numbering)) return [];
  return [
    {
      path: ['numbering'],
      message: `the policy ${numbering} needs a Kubernetes version`,
      hint: 'Add `kubernetes: 1.36.2`, or choose another numbering policy.',
    },
  ];
}

function kubernetesProblem(text: string, path: RecipeProblem['path']): readonly RecipeProblem[] {
  if (readNumber(text.replace(/^v/, '')) !== undefined) return [];
  const likely = likelyNumber(text);
  return [
    {
      path,
      message: `${quote(text)} is not a Kubernetes version`,
      ...(likely === undefined ? {} : { hint: `Did you mean \`${likely}\`?` }),
    },
  ];
}

const mebibyte = 1024 * 1024;
const smallestDisk = 256 * mebibyte;

function diskProblems({ disk }: Recipe): readonly RecipeProblem[] {
  if (disk === undefined) return [];
  const path = ['disk', 'size'];
  if (disk.sizeBytes < smallestDisk) return [{ path, message: 'must be at least 256MiB' }];
  return disk.sizeBytes % mebibyte === 0 ? [] : [{ path, message: 'must be whole MiB' }];
}

/** What is wrong with the words that reach other programs, their configuration, or the file system. */
function hostileWords(recipe: Recipe): readonly RecipeProblem[] {
  return [
    ...baseProblems(recipe),
    ...packageProblems(recipe.base?.packages ?? [], ['base', 'packages']),
    ...packageProblems(recipe.packages ?? [], ['packages']),
    ...recipe.components.flatMap((component, index) => componentWords(component, ['components', index])),
    ...(recipe.windows?.patches ?? []).flatMap(({ url }, index) =>
      wordProblems('address', url, ['windows', 'patches', index]),
    ),
    ...pathProblems(recipe),
  ];
}

function componentWords(component: RecipeComponent, at: RecipeProblem['path']): readonly RecipeProblem[] {
  const source = sourceOf(component);
  const from = [...at, 'from'];
  const versions = versionsOf(component);
  return [
    ...versions.flatMap((text) => wordProblems('version', text, [...at, 'version'])),
    ...('package' in source ? wordProblems('package', source.package, from) : []),
    ...('url' in source
      ? versions.flatMap((version) => wordProblems('address', substitute(source.url, { version }).text, from))
      : []),
    ...wordProblems('address', component.updates?.page, [...at, 'updates']),
  ];
}

function pathProblems(recipe: Recipe): readonly RecipeProblem[] {
  return localPaths(withoutPlace(recipe)).flatMap(({ path, at }) => {
    const message = localPathProblem(path);
    return message === undefined ? [] : [{ path: at, message }];
  });
}

/** The words that reach apt's configuration and the provider. */
function baseProblems({ base = {} }: Recipe): readonly RecipeProblem[] {
  return [
    ...wordProblems('suite', base.suite, ['base', 'suite']),
    ...wordProblems('address', base.mirror, ['base', 'mirror']),
    ...(base.components ?? []).flatMap((name, index) =>
      wordProblems('suite', name, ['base', 'components', index]),
    ),
    ...(base.keys === undefined || base.mirror !== undefined
      ? []
      : [{ path: ['base', 'keys'], message: 'needs the `mirror` of the archive that they signed' }]),
    ...wordProblems('address', base.securityMirror, ['base', 'securityMirror']),
    ...(base.image === undefined || /^[A-Za-z0-9/][\x21-\x7e]*$/.test(base.image)
      ? []
      : [{ path: ['base', 'image'], message: `${quote(base.image)} is not the name of an image` }]),
  ];
}

function wordProblems(
  kind: WordKind,
  text: string | undefined,
  path: RecipeProblem['path'],
): readonly RecipeProblem[] {
  const message = text === undefined ? undefined : wordProblem(kind, text);
  return message === undefined ? [] : [{ path, message }];
}

function packageProblems(
  packages: readonly RecipePackage[],
  at: RecipeProblem['path'],
): readonly RecipeProblem[] {
  return packages.flatMap(({ name, version }, index) => [
    ...wordProblems('package', name, [...at, index]),
    ...wordProblems('package version', version, [...at, index]),
  ]);
}

const referencePattern = /^[a-z0-9]+(?:[._:/-][a-z0-9]+)*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?$/;

function imageProblems(images: readonly RecipeImage[]): readonly RecipeProblem[] {
  return [
    ...images.flatMap(({ name }, index) => {
      const path = ['images', index, 'name'];
      if (!referencePattern.test(name)) {
        return [{ path, message: `${quote(name)} is not the name of a container image` }];
      }
      const hint = 'Write it like example.com/pause:3.10.';
      if (!/:[^/]+$/.test(name)) return [{ path, message: `${quote(name)} has no tag`, hint }];
      if (!/^(?:localhost|[^/]*[.:][^/]*)\//.test(name)) {
        return [{ path, message: `${quote(name)} does not say which registry it is of`, hint }];
      }
      return [];
    }),
    ...repeated(images, (image) => image.name, ['images'], 'container image'),
  ];
}

function windowsProblems(recipe: Recipe): readonly RecipeProblem[] {
  const { windows, numbering } = recipe;
  const patches = windows?.patches ?? [];
  const problems = patches.flatMap((patch, index) => {
    const path = ['windows', 'patches', index];
    const found: RecipeProblem[] = [];
    if (!/^KB[0-9]{6,8}$/.test(patch.kb))
      found.push({ path, message: `${quote(patch.kb)} is not a KB number` });
    if ((patch.url === undefined) === (patch.file === undefined)) {
      found.push({ path, message: `${patch.kb} needs one of \`url\` and \`file\`` });
    }
    return found;
  });
  const order = patchProblem(windows ?? {});
  const until = supportProblem(recipe);
  return [
    ...problems,
    ...repeated(patches, (patch) => patch.kb, ['windows', 'patches'], 'patch'),
    ...(order === undefined ? [] : [{ path: ['windows', 'patches'], message: order }]),
    ...(until === undefined ? [] : [{ path: ['support', 'until'], message: until }]),
    ...(numbering === 'windows' ? windowsNumberProblems(windows ?? {}) : []),
  ];
}

function windowsNumberProblems(windows: RecipeWindows): readonly RecipeProblem[] {
  const say = (message: string, hint: string) => [{ path: ['numbering'], message, hint }];
  if (windows.patches?.some((patch) => patch.private === true)) {
    return say(
      'the policy windows would number versions after the revision of a private patch',
      'Choose another numbering policy, such as `calendar`.',
    );
  }
  if (plannedBuild(windows) !== undefined) return [];
  return say('the policy windows needs the build of the system', 'Set `windows.base.build`.');
}

function expectProblems({ expect: { ports = [], setuid = [] } = {} }: Recipe): readonly RecipeProblem[] {
  const at = ['expect', 'setuid'];
  return [
    ...repeated(ports, String, ['expect', 'ports'], 'port'),
    ...setuid.flatMap((path, index) =>
      /^(?:\/[^/\s]+)+$/.test(path) && !/\/\.{1,2}(?:\/|$)/.test(path)
        ? []
        : [{ path: [...at, index], message: `${quote(path)} is not the absolute path of a program` }],
    ),
    ...repeated(setuid, (path) => path, at, 'program'),
  ];
}

function stepProblems({ steps }: Recipe): readonly RecipeProblem[] {
  return (steps ?? []).flatMap((step, index) =>
    (step.run === undefined) === (step.file === undefined)
      ? [{ path: ['steps', index], message: `${step.name} needs one of \`run\` and \`file\`` }]
      : [],
  );
}
