import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { kubernetesCalendar } from '../../domain/support/calendar.ts';
import { readRecipe } from './read-recipe.ts';

const root = join(import.meta.dirname, '../../..');

interface DocumentedRecipe {
  readonly page: string;
  readonly text: string;
  /** The files that the page shows before it. */
  readonly others: ReadonlyMap<string, string>;
}

/** The blocks of YAML that begin with a file's name; each `imago.yaml` is a whole recipe. */
async function documentedRecipes(): Promise<readonly DocumentedRecipe[]> {
  const folder = join(root, 'docs/how-to');
  const found: DocumentedRecipe[] = [];
  for (const page of (await readdir(folder)).filter((name) => name.endsWith('.md'))) {
    const others = new Map<string, string>();
    const content = await readFile(join(folder, page), 'utf8');
    for (const [, name = '', text = ''] of content.matchAll(/```yaml\n# (\S+\.yaml)\n(.*?)```/gs)) {
      if (name === 'imago.yaml') found.push({ page, text, others: new Map(others) });
      else others.set(name, text);
    }
  }
  return found;
}

const recipes = await documentedRecipes();
/** Until the next line is in the calendar, both of these are supported whenever a release is made. */
const supportedLines = kubernetesCalendar.slice(-2).map(({ line }) => line);

function expectSupported(variants: readonly { readonly kubernetes?: string | undefined }[]): void {
  for (const { kubernetes } of variants) {
    if (kubernetes !== undefined) expect(supportedLines).toContain(kubernetes.replace(/\.\d+$/, ''));
  }
}

test('the how-tos show recipes', () => {
  const pages = new Set(recipes.map(({ page }) => page));
  const expected = ['write-a-recipe.md', 'add-a-component.md', 'one-image-per-kubernetes-patch.md'];
  expect([...pages]).toEqual(expect.arrayContaining(expected));
});

test.each(recipes)(
  'a recipe of $page is valid, and of a Kubernetes that is supported',
  async ({ text, others }) => {
    const files = { read: async (path: string) => (path === 'imago.yaml' ? text : others.get(path)) };
    const { variants } = await readRecipe({ file: 'imago.yaml', files });
    expect(variants.length).toBeGreaterThan(0);
    expectSupported(variants);
  },
);

test('the examples are valid, and of a Kubernetes that is supported', async () => {
  const files = { read: (path: string) => readFile(path, 'utf8').catch(() => undefined) };
  const names = (await readdir(join(root, 'examples'), { recursive: true })).filter((name) =>
    /^[^/]+\/imago\.yaml$/.test(name),
  );
  expect(names.length).toBeGreaterThan(4);
  for (const name of names) {
    expectSupported((await readRecipe({ file: join(root, 'examples', name), files })).variants);
  }
});
