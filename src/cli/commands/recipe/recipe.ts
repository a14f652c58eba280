// Commands for recipes.
import type { OperationEndpoint } from '../../../api/contract/types.ts';
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { referenceArgument } from '../../input/find-version.ts';
import {
  readIfPresent,
  recipeArguments,
  recipeFile,
  recipeFlags,
  sendRecipe,
} from '../../input/read-recipe.ts';
import { table } from '../../output/table.ts';
import { writeAtomically } from '../../output/write-atomically.ts';
import { group, subject } from '../../run/builders.ts';
import type { Request } from '../../spec/call.ts';
import { type CommandSpec, dryRunFlag, type Invocation, isSet, texts } from '../../spec/command.ts';

const check: CommandSpec = {
  summary: 'Validate a recipe',
  args: recipeArguments,
  flags: recipeFlags,
  examples: [['imago recipe check', 'Report the line and column of the first error']],
  async run(invocation) {
    const file = recipeFile(invocation);
    const client = await invocation.client();
    const { versions, plan, unbuildable } = await sendRecipe(invocation, async (body) => ({
      versions: (await client.call('showRecipe', { body })).versions,
      ...(await client
        .plan('createBuild', { body })
        .then((found) => ({ plan: found.plan, unbuildable: undefined }), unbuildableHere)),
    }));
    const report = { file, ok: true, versions, plan, unbuildable };
    invocation.out.thing(report, file, () => [
      `${file} is a valid recipe`,
      ...(unbuildable === undefined ? [] : [unbuildable]),
    ]);
  },
};

/** A recipe that no provider of this daemon can build is still valid. */
function unbuildableHere(thrown: unknown) {
  const error = ensureImagoError(thrown);
  if (error.code !== 'provider-lacks') throw thrown;
  return { plan: [], unbuildable: [error.message, error.hint ?? ''].join(' ').trimEnd() };
}

const show: CommandSpec = {
  summary: 'Print the composed recipe with the source file and line of each value',
  args: recipeArguments,
  flags: recipeFlags,
  examples: [['imago recipe show --overlay debug.yaml', 'Print the recipe of a debug build']],
  async run(invocation) {
    const client = await invocation.client();
    const shown = await sendRecipe(invocation, (body) => client.call('showRecipe', { body }));
    invocation.out.thing(shown, shown.name, () => [shown.text.trimEnd()]);
  },
};

interface Locked {
  readonly operation: string;
  readonly text: string;
  readonly locks: readonly {
    readonly kubernetes?: string;
    readonly digest: string;
    readonly inputs: number;
  }[];
}

const lock: CommandSpec = {
  summary: 'Resolve every input to an exact version and write the lock file',
  details:
    'Inputs that are already locked stay as they are, unless the recipe requires a change; --newest upgrades everything. A recipe with an overlay has its own lock: imago.debug.lock. Commit the lock.',
  args: recipeArguments,
  flags: {
    ...recipeFlags,
    newest: { description: 'Upgrade every input to its newest version, ignoring the existing lock' },
    check: { description: 'Fail if the lock is out of date, without writing it' },
    ...dryRunFlag,
  },
  examples: [
    ['imago recipe lock', 'Write imago.lock'],
    ['imago recipe lock --check', 'Check in CI that the committed lock is up to date'],
  ],
  async run(invocation) {
    const file = recipeFile(invocation);
    const locked = await sendRecipe(invocation, async (sent, lockFile) => {
      const request = { body: { ...sent, newest: isSet(invocation, 'newest') } };
      const { proceeds } = await import('../../run/run-command.ts');
      if (!(await proceeds(invocation, 'lockRecipe', request))) return undefined;
      return { lockFile, ...(await answer<Locked>(invocation, 'lockRecipe', request)) };
    });
    if (locked === undefined) return;
    const { text, locks, operation, lockFile } = locked;
    const changed = (await readIfPresent(lockFile)) !== text;
    if (changed && isSet(invocation, 'check')) {
      throw new ImagoError('lock-invalid', `${lockFile} is not the lock of ${file}.`, {
        hint: 'Run `imago recipe lock` and commit it.',
      });
    }
    if (changed) await writeAtomically(lockFile, [Buffer.from(text)], 0o644);
    invocation.out.thing({ file: lockFile, changed, locks, operation }, lockFile, () => [
      changed ? `Wrote ${lockFile}` : `${lockFile} is up to date`,
      ...locks.map(
        ({ kubernetes, inputs, digest }) =>
          `${kubernetes === undefined ? '' : `Kubernetes ${kubernetes}: `}${inputs} inputs, ${digest}`,
      ),
    ]);
  },
};

interface OutdatedInputs {
  readonly behind: readonly {
    readonly kind: string;
    readonly name: string;
    readonly current: string;
    readonly newest: string;
    readonly named: boolean;
  }[];
  readonly unknown: readonly { readonly name: string; readonly why: string }[];
  readonly unruled: readonly string[];
}

const outdated: CommandSpec = {
  summary: 'List inputs that have newer versions',
  details:
    "Checks Debian packages in the distribution's index, and other components if the recipe has a rule for them.",
  args: recipeArguments,
  flags: { ...recipeFlags, all: { description: 'Include packages that the recipe does not list' } },
  examples: [['imago recipe outdated', 'List what the next lock would change']],
  async run(invocation) {
    const { behind, unknown, unruled } = await query<OutdatedInputs>(invocation, 'findOutdated');
    const shown = isSet(invocation, 'all') ? behind : behind.filter(({ named }) => named);
    const hidden = behind.length - shown.length;
    const columns = {
      name: ({ name }: (typeof shown)[number]) => name,
      kind: ({ kind }: (typeof shown)[number]) => kind,
      current: ({ current }: (typeof shown)[number]) => current,
      newest: ({ newest }: (typeof shown)[number]) => newest,
    };
    invocation.out.thing({ behind, unknown, unruled }, shown.map(({ name }) => name).join('\n'), () => [
      ...(shown.length === 0
        ? [nothingOutdated(unknown.length + unruled.length)]
        : table(shown, columns, invocation.out.style)),
      ...(hidden === 0 ? [] : [`${hidden} indirect packages are also outdated (--all).`]),
      ...unknown.map(({ name, why }) => `${name} could not be checked: ${why}`),
      ...(unruled.length === 0 ? [] : [`Not checked, because there is no rule: ${unruled.join(', ')}`]),
    ]);
  },
};

function nothingOutdated(unchecked: number): string {
  return unchecked === 0
    ? 'No input of the recipe is outdated.'
    : 'No input that could be checked is outdated.';
}

interface Rebuild {
  readonly versions: readonly {
    readonly kubernetes?: string;
    readonly layers: readonly {
      readonly name: string;
      readonly state: 'hit' | 'miss';
      readonly changes: readonly {
        readonly input: string;
        readonly before: string;
        readonly after: string;
      }[];
    }[];
  }[];
}

const whyRebuild: CommandSpec = {
  summary: 'Show which layers would be rebuilt, and which inputs changed',
  args: recipeArguments,
  flags: recipeFlags,
  examples: [['imago recipe why-rebuild', 'Show hit or miss for each layer, and what changed']],
  async run(invocation) {
    const found = await query<Rebuild>(invocation, 'explainRebuild');
    const missed = found.versions.flatMap(({ layers }) => layers.filter(({ state }) => state === 'miss'));
    const { style } = invocation.out;
    invocation.out.thing(found, [...new Set(missed.map(({ name }) => name))].join('\n'), () =>
      found.versions.flatMap(({ kubernetes, layers }) => [
        ...(kubernetes === undefined ? [] : [style.bold(`Kubernetes ${kubernetes}`)]),
        ...layers.flatMap(({ name, state, changes }) => [
          `${state === 'hit' ? style.green('hit ') : style.yellow('miss')} ${name}`,
          ...changes.map(({ input, before, after }) => `       ${input}: ${before} → ${after}`),
        ]),
      ]),
    );
  },
};

interface Absorbed {
  readonly text: string;
  readonly changes: readonly string[];
  readonly left: readonly string[];
}

const absorb: CommandSpec = {
  summary: 'Add to a recipe what a captured version has in addition to its parent',
  details:
    'Edits the recipe, whose comments stay, and locks it with the newest version of every input, so that the next build has what was changed on the node: packages, container images, kernel parameters and modules, the states of units, and short text files below /etc, /usr/local, and /opt that everyone can read. What a recipe cannot say is listed. Nothing is built.',
  args: [{ ...referenceArgument, field: false }, ...recipeArguments],
  flags: {
    ...recipeFlags,
    skip: { description: 'Name or path to leave out', value: 'NAME', repeated: true, field: false },
    print: { description: 'Print the changes, and write neither the recipe nor its lock', field: false },
    ...dryRunFlag,
  },
  examples: [
    ['imago recipe absorb web-prototype:202611.18.0 --print', 'Show what the recipe lacks'],
    ['imago recipe absorb web-prototype:202611.18.0 node.yaml --skip tcpdump', 'Leave one package out'],
  ],
  async run(invocation) {
    const file = recipeFile(invocation);
    const { IMAGE: reference = '' } = invocation.args;
    const found = await sendRecipe(invocation, async (sent, lockFile) => {
      const body = { ...sent, reference, skip: texts(invocation, 'skip') };
      const { proceeds } = await import('../../run/run-command.ts');
      if (!(await proceeds(invocation, 'absorbVersion', { body }))) return undefined;
      const absorbed = await answer<Absorbed>(invocation, 'absorbVersion', { body });
      if (isSet(invocation, 'print')) return { ...absorbed, lockFile };
      const edited = { body: { ...sent, recipe: absorbed.text, newest: true } };
      const { text: lockText } = await answer<Locked>(invocation, 'lockRecipe', edited);
      return { ...absorbed, lockFile, lockText };
    });
    if (found === undefined) return;
    const { changes, left, text: recipeText, lockFile } = found;
    const isWritten = 'lockText' in found;
    if (isWritten) {
      await writeAtomically(lockFile, [Buffer.from(found.lockText)], 0o644);
      await writeAtomically(file, [Buffer.from(recipeText)], 0o644);
    }
    invocation.out.thing(
      { file, lockFile, written: isWritten, changes, left, text: recipeText },
      file,
      () => [
        ...changes,
        ...left.map((line) => `Not absorbed: ${line}`),
        isWritten ? `Wrote ${file} and ${lockFile}` : 'Nothing was written',
      ],
    );
  },
};

async function query<T>(invocation: Invocation, endpoint: 'findOutdated' | 'explainRebuild'): Promise<T> {
  return sendRecipe(invocation, (body) => answer<T>(invocation, endpoint, { body }));
}

/** Returns the result of an operation; its fields depend on the kind. */
async function answer<T>(invocation: Invocation, endpoint: OperationEndpoint, request: Request): Promise<T> {
  const { startAndFollow } = await import('../../run/run-command.ts');
  const ended = await startAndFollow(invocation, endpoint, request);
  return { ...(ended?.result as object), operation: ended?.id } as T;
}

const review = subject(
  'Compare a recipe with production, as Markdown for a pull request',
  () => import('./review.ts'),
);

export const command = group({ check, show, lock, outdated, absorb, 'why-rebuild': whyRebuild, review });
