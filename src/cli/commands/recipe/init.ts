// Creates a starter recipe.
import { writeFile } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { packageFile } from '../../../launcher/package.ts';
import { recipeArguments, recipeFile } from '../../input/read-recipe.ts';
import { schemaLine, starterRecipe } from '../../output/starter-recipe.ts';
import type { CommandSpec } from '../../spec/command.ts';

export const command: CommandSpec = {
  args: recipeArguments,
  examples: [['imago init && imago build', 'Create and build a first version']],
  async run(invocation) {
    const file = resolve(recipeFile(invocation));
    try {
      const schema = packageFile('docs/recipe.schema.json');
      const line = schema === undefined ? '' : schemaLine(schema, file);
      await writeFile(file, line + starterRecipe, { flag: 'wx' });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') {
        throw new ImagoError('file-missing', `Cannot write ${file}: ${(cause as Error).message}`, {
          cause,
        });
      }
      throw new ImagoError('file-exists', `${file} already exists.`, { cause });
    }
    invocation.out.thing({ file }, file, () => [
      `Wrote ${basename(file)}. Review it, then run \`imago build\`.`,
    ]);
  },
};
