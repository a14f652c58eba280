// Describes commands that call one endpoint: how their arguments and flags become a request, and how they print.
import type {
  ItemOf,
  ListEndpoint,
  PlainEndpoint,
  ResponseOf,
  WriteEndpoint,
} from '../../api/contract/types.ts';
import type { CommandTexts, Fields, Invocation } from './command.ts';

/** A field of the item, or a header with a field or a function that returns the cell. */
export type Column<T> =
  | (keyof T & string)
  | readonly [header: string, cell: (keyof T & string) | ((item: T) => string | undefined)];

interface CallSpec extends CommandTexts {
  /** Fields besides those of arguments and flags. */
  readonly more?: (invocation: Invocation) => Fields | Promise<Fields>;
}

/** What was sent: arguments and flags as fields of the request. */
export interface Request {
  readonly path?: Fields;
  readonly query?: Fields;
  readonly body?: Fields;
}

/** The invocation, with the request that was made of it. */
export interface Context extends Invocation {
  readonly request: Request;
}

export interface ListSpec<N extends ListEndpoint> extends CallSpec {
  readonly columns: readonly Column<ItemOf<N>>[];
  /** The name of an item for `-o name`. Defaults to its name, version, or id. */
  readonly name?: (item: ItemOf<N>) => string;
}

export interface ShowSpec<N extends PlainEndpoint> extends CallSpec {
  readonly name?: (answer: ResponseOf<N>) => string;
  /** Throws if the response is not acceptable. */
  readonly check?: (answer: ResponseOf<N>, invocation: Invocation) => void;
  /** The document for `--json`. Defaults to the response. */
  readonly value?: (answer: ResponseOf<N>) => object;
  /** Defaults to all fields. */
  readonly lines?: (answer: ResponseOf<N>, context: Context) => readonly string[];
}

type Printed<T> = (result: T, context: Context) => string | readonly string[];

export interface WriteSpec<N extends WriteEndpoint> extends CallSpec {
  /** Shows the plan and asks for confirmation first. */
  readonly irreversible?: boolean;
  readonly name?: (answer: ResponseOf<N>, context: Context) => string;
  readonly value?: (answer: ResponseOf<N>, context: Context) => object;
  readonly done: Printed<ResponseOf<N>>;
}

/** The result of an operation, whose fields depend on its kind. */
export type Result = Readonly<Record<string, unknown>>;

export interface OperationSpec extends CallSpec {
  readonly irreversible?: boolean | ((invocation: Invocation) => Promise<boolean>);
  readonly name?: (result: Result) => string;
  readonly done: Printed<Result>;
}

/** A spec without its texts, for commands that prepare more than one call. */
export type Call<S extends CommandTexts> = Omit<S, 'summary' | 'examples'>;
