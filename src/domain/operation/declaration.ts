// Declares a kind of operation: its name, its input, who can start it, and what it works on. Its steps are in
// `operations`; the registry, the roles and the routes derive from the two.
import type * as z from 'zod';
import type { Role } from '../access/roles.ts';
import { ImagoError } from '../error/imago-error.ts';
import type { Json } from '../value/json.ts';

/** A command of the command line that calls one endpoint. Its summary is the endpoint's. */
export interface RouteCommand {
  /** A group, and the name of the command in it: `pool delete`. */
  readonly words: `${string} ${string}`;
  /** Fields that are arguments, after the parameters of the path. The others are flags. */
  readonly args?: readonly string[];
  /** Defaults to the description of the endpoint. */
  readonly details?: string;
  /** Asks for confirmation first. */
  readonly irreversible?: true;
  readonly examples: readonly (readonly [command: string, caption: string])[];
  /** For lists: the fields to show. */
  readonly columns?: readonly string[];
  /** The line to print, with fields of the result in braces. Defaults to all fields. */
  readonly done?: string;
}

/** How the API starts an operation: its input is the path, the query and the body together. */
export interface OperationRoute {
  /** Method and path, with parameters in braces. */
  readonly address: `${'POST' | 'DELETE'} /v1/${string}`;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  /** Absent if the command line has a command of its own. */
  readonly command?: RouteCommand;
  /** Path parameters whose field in the input has another name. */
  readonly rename?: Readonly<Record<string, string>>;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodType;
  /** A missing body is read as an empty object. */
  readonly bodyOptional?: true;
}

export interface OperationDeclaration<
  Kind extends string = string,
  Schema extends z.ZodType = z.ZodType,
  Routes = Readonly<Record<string, OperationRoute>>,
> {
  readonly kind: Kind;
  /** Names that the kind had in earlier versions of Imago, which may have started operations that still run. */
  readonly formerly?: readonly string[];
  /** The minimum role to start, schedule, retry or cancel it. */
  readonly role: Role;
  readonly input: Schema;
  /** What it works on, such as `pool/web`: operations with the same subject run one at a time. */
  subject(input: z.output<Schema>): string;
  /** By the name of the endpoint. Kinds that only other operations start have none. */
  readonly routes: Routes;
  /** The lock to hold instead of the subject's, for kinds that must not wait for other work on their subject. */
  key?(input: z.output<Schema>, id: string): string;
}

/** Checks the shape and keeps the exact types. */
export function declareOperation<
  const Kind extends string,
  Schema extends z.ZodType,
  const Routes extends Readonly<Record<string, OperationRoute>>,
>(declaration: OperationDeclaration<Kind, Schema, Routes>): OperationDeclaration<Kind, Schema, Routes> {
  return declaration;
}

/** A request for the operation, with the subject that follows from the input. Throws `input-invalid`. */
export function operationRequest<Kind extends string, Schema extends z.ZodType>(
  { kind, input: schema, subject }: Pick<OperationDeclaration<Kind, Schema>, 'kind' | 'input' | 'subject'>,
  input: z.input<Schema>,
): { readonly kind: Kind; readonly subject: string; readonly input: Json } {
  return { kind, subject: subject(parseInput(schema, input as Json)), input: input as Json };
}

/** Reads an input by its schema. Throws `input-invalid`. */
export function parseInput<T extends z.ZodType>(schema: T, input: Json): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const where = issue?.path.join('.') ?? '';
  throw new ImagoError(
    'input-invalid',
    `${where === '' ? 'The input' : where}: ${issue?.message ?? 'is not valid'}`,
  );
}
