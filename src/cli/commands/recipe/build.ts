// Builds a recipe, or a hotfix of a version.
import {
  recipeArguments,
  recipeFile,
  recipeFlags,
  recipeLocation,
  sendRecipe,
} from '../../input/read-recipe.ts';
import type { Result } from '../../spec/call.ts';
import {
  type CommandSpec,
  type FlagSpecs,
  type Invocation,
  isSet,
  operationFlags,
  text,
  texts,
} from '../../spec/command.ts';
import { usage } from '../../spec/parse.ts';

interface Built {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
  /** No disk was built. */
  readonly simulated?: boolean;
  readonly why?: string;
  readonly changes?: readonly string[];
  /** Differences between the lock that was built and the one that was given. */
  readonly lockChanges?: readonly string[];
  /** Whether a hotfix is proven to change nothing else, and if not, why. */
  readonly proven?: boolean;
  readonly unproven?: string;
}

export const buildFlags = {
  bump: {
    description: 'Part of the version number to increment (semver numbering)',
    value: 'PART',
    choices: ['patch', 'minor', 'major'],
  },
  locked: { description: 'Build from the existing lock, and fail if it does not match the recipe' },
} as const satisfies FlagSpecs;

export const command: CommandSpec = {
  details:
    'Building the same lock again returns the same version: nothing is built or numbered twice. A recipe with a matrix is built once for each version. With --from, the lock of an existing version is used, and only the components of --set change.',
  args: recipeArguments,
  flags: {
    ...recipeFlags,
    from: { description: 'Version to use as the base of the build', value: 'IMAGE', completes: 'image' },
    set: {
      description: 'Component version to change; requires --from',
      value: 'COMPONENT=VERSION',
      repeated: true,
    },
    ...buildFlags,
    'keep-failed': {
      description: 'Keep the machine of a build that fails, for four hours',
      field: 'keepFailed',
    },
    'shell-on-failure': { description: 'Open a shell in the layer that failed', field: 'keepFailed' },
    ...operationFlags,
  },
  examples: [
    ['imago build', 'Build imago.yaml in the current directory'],
    ['imago build node.yaml --json', 'Build another recipe in a script'],
    ['imago build --locked', 'Build exactly the committed lock in CI'],
    ['imago build --from node:1.34.2 --set runc=1.1.16', 'Build a hotfix that changes only one input'],
  ],
  async run(invocation) {
    if (!isSet(invocation, 'shell-on-failure')) return build(invocation);
    if (process.env.IMAGO_URL)
      throw usage(
        '--shell-on-failure opens a shell on the host of the daemon, but IMAGO_URL is set to another host.',
        'build',
      );
    const { offerShell } = await import('../../run/failed-build.ts');
    await offerShell(invocation, () => build(invocation));
  },
};

async function build(invocation: Invocation): Promise<void> {
  const from = text(invocation, 'from');
  if ((from === undefined) !== (texts(invocation, 'set').length === 0))
    throw usage('--from and --set must be used together.', 'build');
  if (isSet(invocation, 'locked') && from !== undefined)
    throw usage('--locked applies to a recipe and cannot be used with --from.', 'build');
  const { runOperation } = await import('../../run/run-command.ts');
  if (from !== undefined) {
    const more = () => recipeLocation(invocation, recipeFile(invocation));
    return runOperation(invocation, 'createHotfix', { ...command, ...printed, more });
  }
  await sendRecipe(invocation, (sent, lockFile) =>
    runOperation(invocation, 'createBuild', {
      ...command,
      more: () => sent,
      name: printed.name,
      done: (result) => [...printed.done(result), ...staleLockLines(result, lockFile)],
    }),
  );
}

/** Reports that the lock file does not match what was built. */
function staleLockLines(result: Result, lockFile: string): readonly string[] {
  const changes = [...new Set(builtOf(result).flatMap(({ lockChanges = [] }) => lockChanges))];
  if (changes.length === 0) return [];
  return [
    `note: the build differs from ${lockFile}; \`imago recipe lock\` updates it, and --locked requires it:`,
    ...firstOf(changes),
  ];
}

function firstOf(changes: readonly string[]): readonly string[] {
  const more = changes.length - 10;
  return [
    ...changes.slice(0, 10).map((change) => `  ${change}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
  ];
}

/** Returns one version, or those of a matrix. */
function builtOf(result: Result): readonly Built[] {
  return (Array.isArray(result.versions) ? result.versions : [result]) as readonly Built[];
}

const simulatedLine =
  'note: this build was simulated: it has no disk, and the image stays simulated. To build a real image, use another name and pass --provider local.';

const printed = {
  name: (result: Result) =>
    builtOf(result)
      .map(({ image, version }) => `${image}:${version}`)
      .join('\n'),
  done: (result: Result) => [
    ...builtOf(result).flatMap(builtLines),
    ...(builtOf(result).some(({ simulated }) => simulated === true) ? [simulatedLine] : []),
  ],
};

function builtLines({
  image,
  version,
  digest,
  reused,
  why,
  changes = [],
  ...proof
}: Built): readonly string[] {
  return [
    `${image}:${version} ${reused ? 'already exists: nothing changed' : 'sealed as a candidate'}`,
    ...(why === undefined ? [] : [why]),
    ...firstOf(changes),
    ...proofLines(proof),
    `digest ${digest}`,
  ];
}

function proofLines({ proven, unproven }: Pick<Built, 'proven' | 'unproven'>): readonly string[] {
  if (proven === undefined) return [];
  if (proven) return ['The comparison of both disks proves that nothing else changed.'];
  return [`It is not proven that nothing else changed: ${unproven}`];
}
