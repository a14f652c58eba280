// Reads a recipe from YAML. Every mistake is told with its file, line and column.
import { type Document, isMap, LineCounter, type Node, parseDocument } from 'yaml';
import { recipe as recipeSchema, toRecipe } from '../../api/schemas/recipe.ts';
import { ImagoError } from '../../domain/errors.ts';
import { type Recipe, recipeProblems } from '../../domain/recipe.ts';
import { type FieldProblem, fieldProblems, unknownFirst } from './validate.ts';

type Path = readonly (string | number)[];

interface PlacedProblem extends FieldProblem {
  readonly line: number;
  readonly column: number;
}

/** Throws `recipe-syntax` or `recipe-invalid`, with everything that is wrong in the details. */
export function readRecipe(text: string, file = 'recipe'): Recipe {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true });
  const place = (offset: number) => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const [broken] = document.errors;
  if (broken !== undefined) {
    const { line, column } = place(broken.pos[0]);
    throw new ImagoError('recipe-syntax', `${file}:${line}:${column}: ${broken.message}`, {
      details: { file, line, column },
    });
  }
  const checked = recipeSchema.safeParse(readValue(document, file));
  if (!checked.success) {
    const problems = unknownFirst(checked.error.issues).flatMap((issue) => {
      const path = issue.path as Path;
      const key = issue.code === 'unrecognized_keys' ? issue.keys[0] : undefined;
      const at = place(offsetOf(document, key === undefined ? path : [...path, key]));
      return fieldProblems(recipeSchema, issue).map((problem) => ({
        ...withQuotes(problem, document, path),
        ...at,
      }));
    });
    throw invalid(file, problems);
  }
  const recipe = toRecipe(checked.data);
  const problems = recipeProblems(recipe).map(({ path, ...problem }) => ({
    path: path.join('.'),
    ...problem,
    ...place(offsetOf(document, path)),
  }));
  if (problems.length > 0) throw invalid(file, problems);
  return recipe;
}

function readValue(document: Document, file: string): unknown {
  try {
    return document.toJS({ maxAliasCount: 100 }) ?? {};
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ImagoError('recipe-syntax', `${file}: ${reason}`, { cause: error });
  }
}

/** Where the value of the path stands, or its key when it is unknown, or the nearest thing around it. */
function offsetOf(document: Document, path: Path): number {
  for (let length = path.length; length > 0; length -= 1) {
    const around = document.getIn(path.slice(0, length - 1), true);
    const key = path[length - 1];
    if (isMap(around)) {
      const pair = around.items.find((item) => String(item.key) === String(key));
      const start = (pair?.key as Node | undefined)?.range?.[0];
      if (start !== undefined) return start;
    }
    const node = document.getIn(path.slice(0, length), true) as Node | undefined;
    if (node?.range) return node.range[0];
  }
  return document.contents?.range?.[0] ?? 0;
}

/** `1.34` is a number in YAML and `1.34.2` is not: the most common surprise is told with its cure. */
function withQuotes(problem: FieldProblem, document: Document, path: Path): FieldProblem {
  const value: unknown = document.getIn(path);
  if (problem.message !== 'must be a string' || typeof value !== 'number') return problem;
  return { ...problem, hint: `Put it in quotes: "${value}".` };
}

function invalid(file: string, problems: readonly PlacedProblem[]): ImagoError {
  const [first] = problems;
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : '';
  const what = first === undefined || first.path === '' ? 'the recipe' : first.path;
  const message = `${file}:${first?.line ?? 1}:${first?.column ?? 1}: ${what} ${first?.message ?? 'is not valid'}${more}`;
  return new ImagoError('recipe-invalid', message, {
    ...(first?.hint === undefined ? {} : { hint: first.hint }),
    details: { file, problems },
  });
}
