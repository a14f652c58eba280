// One thing that is wrong with a node config, and how its place is written.
import { ImagoError } from '../error/imago-error.ts';

export type FieldPath = readonly (string | number)[];

export interface ConfigProblem {
  /** Keys and indices from the document's root, for whoever knows lines and columns. */
  readonly path: FieldPath;
  /** The end of a sentence that begins with the path. Never a secret. */
  readonly message: string;
  readonly hint?: string;
}

/** `files[2].path`, `runtime.mirrors["registry.example.com"]`. */
export function writePath(path: FieldPath): string {
  if (path.length === 0) return 'The document';
  return path
    .map((part, index) => {
      if (typeof part === 'number') return `[${part}]`;
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(part)) return `[${JSON.stringify(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join('');
}

const shown = 20;

/**
 * `node-config-invalid` with every problem, one a line, and what to do about it. `place` may add where in a file
 * each stands.
 */
export function configError(
  problems: readonly ConfigProblem[],
  place: (path: FieldPath) => string = () => '',
): ImagoError {
  const [only] = problems;
  const alone = problems.length === 1 ? only?.hint : undefined;
  const lines = problems.slice(0, shown).map(({ path, message, hint }) => {
    const line = `${place(path)}${writePath(path)} ${message}.`;
    return hint === undefined || problems.length === 1 ? line : `${line} ${hint}`;
  });
  if (problems.length > shown) lines.push(`${problems.length - shown} more problems are not shown.`);
  return new ImagoError('node-config-invalid', lines.join('\n'), {
    ...(alone === undefined ? {} : { hint: alone }),
    details: {
      problems: problems.slice(0, shown).map(({ path, message }) => ({ path: writePath(path), message })),
    },
  });
}
