// Finds the steps that an operation recorded when it started in the current code: by name, through renames, and skipping
// steps that no longer exist (D3). Code that no longer matches is a reason to fail, not an exception.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationKind, OperationRecord, Step } from '../../ports/workflow/operation.ts';

/** Kinds of operations by name. */
export type OperationKinds = ReadonlyMap<string, OperationKind<unknown>>;

export type FoundStep =
  | { readonly step: Step<unknown> }
  | { readonly removed: true }
  | { readonly error: ImagoError };

export interface Script {
  readonly kind: OperationKind<unknown> | undefined;
  readonly input: unknown;
  find(recordedName: string): FoundStep;
  /** Returns the current name of the step. */
  nameToday(recordedName: string): string;
}

/** Returns the kind with that name. Throws `operation-unknown-kind` if this version of Imago has none. */
export function requireKind(kinds: OperationKinds, name: string): OperationKind<unknown> {
  const kind = kinds.get(name);
  if (kind === undefined) throw unknownKind(name);
  return kind;
}

/** Returns the names of the steps, as they are recorded when an operation starts. */
export function stepNames(kind: OperationKind<unknown>, input: unknown): readonly string[] {
  const names = kind.steps(input).map((step) => step.name);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) {
    throw new ImagoError('internal', `Operation kind ${kind.kind} has two steps called ${twice}.`);
  }
  return names;
}

export function readScript(record: Pick<OperationRecord, 'kind' | 'input'>, kinds: OperationKinds): Script {
  const kind = kinds.get(record.kind);
  if (kind === undefined) return unreadable(kind, unknownKind(record.kind));
  try {
    return readable(kind, kind.parse(record.input));
  } catch (thrown) {
    return unreadable(kind, ensureImagoError(thrown), record.input);
  }
}

function readable(kind: OperationKind<unknown>, input: unknown): Script {
  const steps = new Map(kind.steps(input).map((step) => [step.name, step]));

  function nameToday(recordedName: string): string {
    const seen = new Set<string>();
    let name = recordedName;
    while (!steps.has(name) && !seen.has(name)) {
      seen.add(name);
      name = kind.renamed?.[name] ?? name;
    }
    return name;
  }

  return {
    kind,
    input,
    nameToday,
    find(recordedName) {
      const name = nameToday(recordedName);
      const step = steps.get(name);
      if (step !== undefined) return { step };
      if ([recordedName, name].some((one) => kind.removed?.includes(one))) return { removed: true };
      return { error: unknownStep(kind.kind, recordedName) };
    },
  };
}

function unreadable(kind: OperationKind<unknown> | undefined, error: ImagoError, input: Json = null): Script {
  return { kind, input, nameToday: (name) => name, find: () => ({ error }) };
}

function unknownKind(name: string): ImagoError {
  return new ImagoError('operation-unknown-kind', `There is no operation of kind ${name}.`);
}

function unknownStep(kind: string, name: string): ImagoError {
  return new ImagoError('operation-unknown-step', `Operation kind ${kind} no longer has a step ${name}.`, {
    hint: 'The operation was started by another version of Imago. Finish or retry it with that version.',
  });
}
