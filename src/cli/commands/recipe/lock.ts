// Resolve a recipe to its lock.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { gatherRecipe, readIfThere, recipeFlags } from '../../input/read-recipe.ts';
import { writeBeside } from '../../output/write-atomically.ts';
import { performOperation, showPlan } from '../../run/run-operation.ts';
import { argumentOr, type CommandSpec, isSet } from '../../spec/command.ts';

interface Locked {
  readonly text: string;
  readonly locks: readonly {
    readonly kubernetes?: string;
    readonly digest: string;
    readonly inputs: number;
  }[];
}

export const command: CommandSpec = {
  summary: 'Resolve every input to an exact version, and write the lock beside the recipe',
  details:
    'What the lock has already stays as it is, unless the recipe says otherwise; --newest takes the newest of ' +
    'everything. A recipe with something laid over it has a lock of its own: imago.debug.lock. Locks are meant to be ' +
    'committed.',
  args: [{ name: 'FILE', what: 'the recipe (default: imago.yaml)', optional: true, completes: 'file' }],
  flags: {
    ...recipeFlags,
    newest: { what: 'take the newest of everything, whatever was locked before' },
    check: { what: 'write nothing, and fail when the lock is not up to date' },
    'dry-run': { what: 'say what would be done, and do nothing' },
  },
  examples: [
    ['imago recipe lock', 'writes imago.lock'],
    ['imago recipe lock --check', 'in CI: is the lock that was committed the one of the recipe?'],
  ],
  async run(invocation) {
    const file = argumentOr(invocation, 'FILE', 'imago.yaml');
    const client = await invocation.client();
    const { sent, lockFile: path } = await gatherRecipe(invocation, client, file);
    const input = { body: { ...sent, newest: isSet(invocation, 'newest') } };
    if (isSet(invocation, 'dry-run')) return showPlan(invocation, client, { endpoint: 'lockRecipe', input });
    const ended = await performOperation(invocation, client, { endpoint: 'lockRecipe', input });
    const { text, locks } = ended.result as unknown as Locked;
    const changed = (await readIfThere(path)) !== text;
    if (changed && isSet(invocation, 'check')) {
      throw new ImagoError('lock-invalid', `${path} is not the lock of ${file}.`, {
        hint: 'Run `imago recipe lock` and commit it.',
      });
    }
    if (changed) await writeBeside(path, pieces(text), 0o644);
    invocation.out.thing({ file: path, changed, locks, operation: ended.id }, path, () => [
      changed ? `Wrote ${path}` : `${path} is up to date`,
      ...locks.map(
        ({ kubernetes, inputs, digest }) =>
          `${kubernetes === undefined ? '' : `Kubernetes ${kubernetes}: `}${inputs} inputs, ${digest}`,
      ),
    ]);
  },
};

async function* pieces(text: string) {
  yield Buffer.from(text);
}
