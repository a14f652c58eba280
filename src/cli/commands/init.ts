// A first recipe in this folder.
import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { packageFile } from '../input/package-version.ts';
import { firstRecipe, schemaLine } from '../output/first-recipe.ts';
import { argumentOr, type CommandSpec } from '../spec/command.ts';

export const command: CommandSpec = {
  summary: 'Write a first recipe into this folder',
  args: [
    { name: 'FILE', what: 'where to write it (default: imago.yaml)', optional: true, completes: 'file' },
  ],
  examples: [['imago init && imago build', 'from nothing to a first version']],
  async run(invocation) {
    const file = resolve(argumentOr(invocation, 'FILE', 'imago.yaml'));
    try {
      const schema = packageFile('docs/recipe.schema.json');
      const line = schema === undefined ? '' : schemaLine(schema, file);
      await writeFile(file, line + firstRecipe, { flag: 'wx' });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new ImagoError('file-missing', `${file} cannot be written: ${(cause as Error).message}`, {
          cause,
        });
      }
      throw new ImagoError('file-exists', `${file} exists already.`, { cause });
    }
    invocation.out.thing({ file }, file, () => [
      `Wrote ${basename(file)}. Look at it, then run \`imago build\`.`,
    ]);
  },
};
