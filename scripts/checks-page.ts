// The page of built-in checks, from the checks themselves.
import { azureChecks } from '../src/domain/image-test/azure-checks.ts';
import { builtInChecks } from '../src/operations/image-test/checks.ts';
import { brokenChecks } from '../test/support/faults.ts';

/** A check that cannot fail says nothing: where each is seen failing. */
function shownBy(id: string): string {
  return brokenChecks.includes(id) ? 'a broken machine' : 'made-up answers';
}

export function checksPage(): string {
  return [
    '# The built-in checks of an image',
    '',
    '`imago test` runs these, and the tests of the recipe, on the sealed disk and on machines started from it. A version becomes available only when every one passed. How to read and extend them: [Test an image](how-to/test-an-image.md).',
    '',
    'Each is shown able to fail. *A broken machine*: `test/e2e/broken-image.test.ts` breaks a real image in all these ways at once, starts it, and exactly these checks fail (`./check --soak e2e`). *Made-up answers*: `src/domain/image-test/image-checks.test.ts` and `src/operations/image-test/checks.test.ts` give the check what a broken machine would say, where the fault itself would keep the machine from answering at all, or the image of that test has nothing that the check concerns.',
    '',
    '| check | what is so | if not | shown failing by |',
    '|---|---|---|---|',
    ...builtInChecks.map(({ id, title, remedy }) => `| \`${id}\` | ${title} | ${remedy} | ${shownBy(id)} |`),
    '',
    '## Before a copy to Azure',
    '',
    'These judge the disk before it is copied to Azure, and refuse it (`disk-unfit`). They follow what Microsoft requires of Linux disks. Hyper-V itself was never tried. Failing: `src/domain/image-test/azure-checks.test.ts`.',
    '',
    '| check | what is so | if not |',
    '|---|---|---|',
    ...azureChecks.map(({ id, title, remedy }) => `| \`${id}\` | ${title} | ${remedy} |`),
    '',
  ].join('\n');
}
