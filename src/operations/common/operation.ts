// An operation as one value: its declaration, its plan, and its steps with typed results. The daemon opens it with what
// it has wired.
import type * as z from 'zod';
import type { Requester } from '../../domain/access/roles.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import {
  type OperationDeclaration,
  operationRequest,
  parseInput,
} from '../../domain/operation/declaration.ts';
import type { Json } from '../../domain/value/json.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type {
  OperationKind,
  OperationRequest,
  PreparedRequest,
  Step,
  StepContext,
} from '../../ports/workflow/operation.ts';
import type { OperationDeps } from './deps.ts';

/** What a plan has to work with: the dependencies, the input, and a deadline. */
export interface Reading<Input = unknown> extends OperationDeps {
  readonly input: Input;
  readonly requester: Requester;
  readonly signal: AbortSignal;
  /** For calls to providers. */
  readonly call: CallOptions;
}

/** What a step has to work with. */
export interface Run<Input = unknown, Results = unknown>
  extends Reading<Input>,
    Pick<StepContext<Input>, 'operation' | 'progress' | 'log'> {
  readonly clock: StepContext<Input>['clock'];
  /** The recorded result of an earlier step. Throws `internal` if it has none. */
  result<Name extends keyof Results & string>(step: Name): Results[Name];
  /** The same for a step that may have been skipped or left out: `undefined` if it has no result. */
  maybe<Name extends keyof Results & string>(step: Name): Results[Name] | undefined;
}

type Answer<T> = Promise<T> | T;

/** What a step does, checks and undoes: see `WorkStep`. */
export interface StepBody<Input, Results, Result> {
  do(run: Run<Input, Results>): Answer<Result>;
  verify?(run: Run<Input, Results>): Answer<NoInfer<Result> | null | undefined>;
  // biome-ignore lint/suspicious/noConfusingVoidType: an undo that keeps nothing returns nothing
  undo?(run: Run<Input, Results>): Promise<'kept' | undefined | void>;
  /** Whether the operation has the step. Defaults to always. */
  when?(input: Input): boolean;
  readonly tries?: number;
  readonly timeoutMs?: number;
}

/** A step with its name, for several operations. */
export interface NamedStep<Name extends string, Input, Results, Result>
  extends StepBody<Input, Results, Result> {
  readonly name: Name;
}

/** A step that runs another operation: see `ChildStep`. */
interface ChildBody<Input, Results> {
  readonly name: string;
  when?(input: Input): boolean;
  child(run: Run<Input, Results>): Pick<OperationRequest, 'kind' | 'subject' | 'input'> | undefined;
}

/** What one check of a waiting step found: the result, or what it still waits for. */
export type Looked<R extends object = object> =
  | { readonly done: R }
  | { readonly againMs: number; readonly sentence: string };

/** A step that checks periodically until a condition holds: see `UntilStep`. */
interface UntilBody<Input, Results> {
  readonly name: string;
  when?(input: Input): boolean;
  patience(run: Run<Input, Results>): { readonly timeoutMs: number };
  look(run: Run<Input, Results>): Promise<Looked>;
}

// biome-ignore lint/suspicious/noExplicitAny: what a step of a list returns is typed by who lists it
export type AnyStep<Input, Results = any> =
  | NamedStep<string, Input, Results, unknown>
  | ChildBody<Input, Results>
  | UntilBody<Input, Results>;

interface OperationOptions<Input> {
  /**
   * What it would do, one sentence each, from reading alone. Throws what a start would be refused with. With `preview`,
   * for a dry run, it may look longer than there is time for before each start.
   */
  plan(run: Reading<Input>, preview: boolean): Answer<readonly string[]>;
  /** What a request through the API adds: see `PreparedRequest`. Throws if there is no such subject. */
  prepare?(
    run: Reading<Input>,
  ): Answer<{ readonly before?: object | undefined; readonly input?: Partial<Input> }>;
  /** Old step name to new one, for operations that an earlier version of Imago started. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Steps that no longer exist: operations that an earlier version started skip them. */
  readonly removed?: readonly string[];
}

export interface Operation<Kind extends string, Schema extends z.ZodType, Results, Result> {
  readonly declaration: OperationDeclaration<Kind, Schema>;
  /** Only a type: what the operation returns. */
  readonly returns?: Result;
  step<Name extends string, R>(
    name: Name,
    body: StepBody<z.output<Schema>, Results, R> | StepBody<z.output<Schema>, Results, R>['do'],
  ): Operation<Kind, Schema, Results & Readonly<Record<Name, R>>, R>;
  /** Adds a step that other operations have too. */
  use<Name extends string, R>(
    step: NamedStep<Name, z.output<Schema>, Results, R>,
  ): Operation<Kind, Schema, Results & Readonly<Record<Name, R>>, R>;
  /** Adds a step that checks periodically, durably, until a condition holds: see `UntilStep`. */
  until<Name extends string, R extends object>(
    name: Name,
    body: {
      patience(run: Run<z.output<Schema>, Results>): { readonly timeoutMs: number };
      look(run: Run<z.output<Schema>, Results>): Promise<Looked<R>>;
    },
  ): Operation<Kind, Schema, Results & Readonly<Record<Name, R>>, R>;
  /** Adds a step that runs another operation; it is skipped if there is no input for it. */
  child<Name extends string, S extends z.ZodType, R>(
    name: Name,
    child: Pick<Operation<string, S, never, R>, 'declaration' | 'returns'>,
    inputOf: (run: Run<z.output<Schema>, Results>) => z.input<S> | undefined,
    when?: (input: z.output<Schema>) => boolean,
  ): Operation<Kind, Schema, Results & Readonly<Record<Name, R>>, R>;
  /** Adds the steps that follow from the input; `More` has their results. */
  steps<More>(
    list: (input: z.output<Schema>) => readonly AnyStep<z.output<Schema>>[],
  ): Operation<Kind, Schema, Results & More, unknown>;
  /** Sets the result of the operation. Defaults to the last step's. */
  result<R>(of: (run: Run<z.output<Schema>, Results>) => R): Operation<Kind, Schema, Results, R>;
  open(deps: OperationDeps): OperationKind<z.output<Schema>>;
}

// biome-ignore lint/suspicious/noExplicitAny: operations of all kinds
export type AnyOperation = Operation<string, any, any, any>;

export function operation<Kind extends string, Schema extends z.ZodType>(
  declaration: OperationDeclaration<Kind, Schema>,
  options: OperationOptions<z.output<Schema>>,
): Operation<Kind, Schema, Record<never, never>, undefined> {
  return assemble({ declaration, options, lists: [] });
}

/** How long a plan may take. */
const planMs = 60_000;

interface Parts<Kind extends string, Schema extends z.ZodType> {
  readonly declaration: OperationDeclaration<Kind, Schema>;
  readonly options: OperationOptions<z.output<Schema>>;
  readonly lists: readonly ((input: z.output<Schema>) => readonly AnyStep<z.output<Schema>>[])[];
  // biome-ignore lint/suspicious/noExplicitAny: typed by the method that sets it
  readonly result?: (run: Run<z.output<Schema>, any>) => unknown;
}

// biome-ignore lint/suspicious/noExplicitAny: the results are typed by the methods of `Operation`
function assemble<K extends string, S extends z.ZodType>(parts: Parts<K, S>): Operation<K, S, any, any> {
  const { declaration, options, lists, result } = parts;
  type Input = z.output<S>;
  const add = (list: Parts<K, S>['lists'][number]) => assemble({ ...parts, lists: [...lists, list] });
  const use = (step: AnyStep<Input>) => add((input) => (step.when?.(input) === false ? [] : [step]));
  return {
    declaration,
    use,
    step: (name, body) => use({ name, ...(typeof body === 'function' ? { do: body } : body) }),
    until: (name, body) => use({ name, ...body }),
    child: (name, { declaration: child }, inputOf, when) =>
      use({
        name,
        ...(when && { when }),
        child(run) {
          const input = inputOf(run);
          return input === undefined ? undefined : operationRequest(child, input);
        },
      }),
    steps: (list) => add(list),
    result: (of) => assemble({ ...parts, result: of }),
    open(deps) {
      const reading = (input: Input, requester: Requester) => {
        const signal = AbortSignal.timeout(planMs);
        return { ...deps, input, requester, signal, call: { signal, epoch: deps.epoch } };
      };
      const { plan, prepare, renamed, removed } = options;
      return {
        kind: declaration.kind,
        parse: (input) => parseInput(declaration.input, input),
        ...(declaration.key && { key: declaration.key }),
        plan: async (input, by, preview) => plan(reading(input, by), preview ?? false),
        prepare: async (input, by) => ((await prepare?.(reading(input, by))) ?? {}) as PreparedRequest,
        steps: (input) => lists.flatMap((list) => list(input)).map((step) => bind(deps, step)),
        ...(renamed && { renamed }),
        ...(removed && { removed }),
        ...(result && { result: (context) => result(runOf(deps, context)) as Json }),
      };
    },
  };
}

/** What a step returns is recorded as JSON: the one place where a result loses its type. */
function bind<Input>(deps: OperationDeps, step: AnyStep<Input>): Step<Input> {
  if ('child' in step) return { name: step.name, child: (context) => step.child(runOf(deps, context)) };
  if ('look' in step) {
    return {
      ...step,
      patience: (context) => step.patience(runOf(deps, context)),
      look: async (context) => (await step.look(runOf(deps, context))) as { readonly done: Json },
    };
  }
  const { verify, undo } = step;
  return {
    ...step,
    do: async (context) => (await step.do(runOf(deps, context))) as Json | undefined,
    ...(verify && {
      verify: async (context: StepContext<Input>) => (await verify(runOf(deps, context))) as Json | undefined,
    }),
    ...(undo && {
      undo: async (context: StepContext<Input>) => (await undo(runOf(deps, context))) ?? undefined,
    }),
  } as Step<Input>;
}

// biome-ignore lint/suspicious/noExplicitAny: the results are typed by the methods of `Operation`
function runOf<Input>(deps: OperationDeps, context: StepContext<Input>): Run<Input, any> {
  return {
    ...deps,
    ...context,
    requester: context.operation,
    call: { signal: context.signal, epoch: deps.epoch },
    maybe: (step) => context.result(step),
    result(step) {
      const found = context.result(step);
      if (found === undefined) throw new ImagoError('internal', `Step ${step} left no result.`);
      return found;
    },
  };
}
