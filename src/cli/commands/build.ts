// Lock, build and seal a candidate.
import type { InputOf } from '../../api/contract/types.ts';
import { gatherRecipe, placeOf, recipeFlags } from '../input/read-recipe.ts';
import { offerShell } from '../run/failed-build.ts';
import { type OperationCall, operationFlags, runOperation } from '../run/run-operation.ts';
import { argumentOr, type CommandSpec, type Invocation, isSet, text, texts } from '../spec/command.ts';
import { usage } from '../spec/parse.ts';

interface Built {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
  /** No disk was built. */
  readonly simulated?: boolean;
  readonly why?: string;
  readonly changes?: readonly string[];
  /** How the lock that was built differs from the one that was given, if it does. */
  readonly lockChanges?: readonly string[];
  /** Of a hotfix: whether it is proven that nothing else moved, and if not, why. */
  readonly proven?: boolean;
  readonly unproven?: string;
}

export const command: CommandSpec = {
  summary: 'Lock a recipe, build it and seal a candidate',
  details:
    'The same lock gives the same version back: nothing is built or numbered twice. A recipe with a matrix is built ' +
    'once for each version. With --from, the lock of a version that exists is taken and only what --set names changes.',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: {
    ...recipeFlags,
    from: { what: 'the version whose lock is changed', value: 'IMAGE', completes: 'image' },
    set: {
      what: 'with --from: the component to change, and its version; again for more',
      value: 'COMPONENT=VERSION',
      repeated: true,
    },
    bump: {
      what: 'which part of the number grows, under semver',
      value: 'PART',
      choices: ['patch', 'minor', 'major'],
    },
    locked: { what: 'build from the lock as it is, and fail when it is not the lock of the recipe' },
    'shell-on-failure': { what: 'open a shell in the layer that failed' },
    ...operationFlags,
  },
  examples: [
    ['imago build', 'build imago.yaml in this folder'],
    ['imago build node.yaml --json', 'build another recipe, for a script'],
    ['imago build --locked', 'in CI: just what was committed, or nothing'],
    ['imago build --from node:1.34.2 --set runc=1.1.16', 'a hotfix: one input changes, and nothing else'],
  ],
  async run(invocation) {
    if (!isSet(invocation, 'shell-on-failure')) return build(invocation);
    if (process.env.IMAGO_URL)
      throw usage(
        '--shell-on-failure opens a shell on the machine of the daemon, and IMAGO_URL names another.',
        'build',
      );
    await offerShell(invocation, () => build(invocation));
  },
};

async function build(invocation: Invocation): Promise<void> {
  const from = text(invocation, 'from');
  const sets = texts(invocation, 'set');
  if ((from === undefined) !== (sets.length === 0)) throw usage('--from and --set go together.', 'build');
  const bump = text(invocation, 'bump') as 'patch' | 'minor' | 'major' | undefined;
  const more = {
    ...(bump && { bump }),
    ...(isSet(invocation, 'shell-on-failure') && { keepFailed: true }),
  };
  const locked = isSet(invocation, 'locked');
  if (locked && from !== undefined) throw usage('--locked is about a recipe, and --from has none.', 'build');
  if (from === undefined) return buildRecipe(invocation, { ...more, ...(locked && { locked }) });
  const provider = text(invocation, 'provider');
  const place = placeOf(invocation, invocation.args.FILE ?? 'imago.yaml');
  const body = { from, set: [...sets], ...more, ...(provider && { provider }), ...place };
  await runOperation(invocation, { endpoint: 'createHotfix', input: { body }, ...shown });
}

async function buildRecipe(
  invocation: Invocation,
  more: Pick<InputOf<'createBuild'>['body'], 'bump' | 'keepFailed' | 'locked'>,
): Promise<void> {
  const file = argumentOr(invocation, 'FILE', 'imago.yaml');
  const { sent, lockFile } = await gatherRecipe(invocation, await invocation.client(), file);
  await runOperation(invocation, {
    endpoint: 'createBuild',
    input: { body: { ...sent, ...more } },
    name: shown.name,
    lines: (result) => [...shown.lines(result), ...staleLines(result, lockFile)],
  });
}

/** What was built is not what the lock file says. */
function staleLines(result: Record<string, unknown>, lockFile: string): readonly string[] {
  const changes = [...new Set(builtOf(result).flatMap(({ lockChanges = [] }) => lockChanges))];
  if (changes.length === 0) return [];
  return [
    `note: this is not what ${lockFile} says; \`imago recipe lock\` writes it anew, --locked builds nothing else:`,
    ...changes.slice(0, 10).map((change) => `  ${change}`),
    ...(changes.length > 10 ? [`  and ${changes.length - 10} more`] : []),
  ];
}

/** One version, or those of a matrix. */
function builtOf(result: Record<string, unknown>): readonly Built[] {
  return Array.isArray(result.versions) ? (result.versions as Built[]) : [result as unknown as Built];
}

const simulatedLine =
  'note: this is the simulation: no disk was built, and the image stays simulated. To build a real one, give it another name and pass --provider local.';

const shown: Pick<OperationCall<'createBuild'>, 'name' | 'lines'> = {
  name: (result) =>
    builtOf(result)
      .map(({ image, version }) => `${image}:${version}`)
      .join('\n'),
  lines: (result) => [
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
    `${image}:${version} ${reused ? 'exists already: nothing changed' : 'sealed as a candidate'}`,
    ...(why === undefined ? [] : [why]),
    ...changes.slice(0, 10).map((change) => `  ${change}`),
    ...(changes.length > 10 ? [`  and ${changes.length - 10} more`] : []),
    ...proofLines(proof),
    `digest ${digest}`,
  ];
}

function proofLines({ proven, unproven }: Pick<Built, 'proven' | 'unproven'>): readonly string[] {
  if (proven === undefined) return [];
  if (proven) return ['Nothing else moved: the difference of the two disks proves it.'];
  return [`It is not proven that nothing else moved: ${unproven}`];
}
