// The types of the API by endpoint, for callers and for routes. Importing them loads no code.
import type * as z from 'zod';
import type { Contract, EndpointName } from './contract.ts';

export type { EndpointName } from './contract.ts';

type Part<N extends EndpointName, K extends string> = Contract[N] extends { readonly [P in K]: infer T }
  ? T
  : never;
type In<T> = T extends z.ZodType ? z.input<T> : never;
type Out<T> = T extends z.ZodType ? z.output<T> : never;

type Parameters<A> = A extends `${string}{${infer P}}${infer Rest}` ? P | Parameters<Rest> : never;
type Path<N extends EndpointName> = Parameters<Contract[N]['address']>;
type Params<N extends EndpointName> = Contract[N] extends { readonly params: infer T } ? T : unknown;

/** What routes receive. */
export type PathOf<N extends EndpointName> = {
  readonly [P in Path<N>]: P extends keyof Params<N> ? Out<Params<N>[P]> : string;
};
type PathInput<N extends EndpointName> = [Path<N>] extends [never]
  ? never
  : { readonly [P in Path<N>]: P extends keyof Params<N> ? In<Params<N>[P]> : string };
export type QueryOf<N extends EndpointName> = Out<Part<N, 'query'>>;
export type BodyOf<N extends EndpointName> = Out<Part<N, 'body'>>;
export type ResponseOf<N extends EndpointName> = Out<Part<N, 'response'>>;

type Has<T, K extends string> = [T] extends [never] ? unknown : { readonly [P in K]: T };
type MayHave<T, K extends string> = [T] extends [never] ? unknown : { readonly [P in K]?: T };
type HasUnlessEmpty<T, K extends string> = [T] extends [never]
  ? unknown
  : Record<never, never> extends T
    ? { readonly [P in K]?: T }
    : { readonly [P in K]: T };

type Effect<N extends EndpointName> = Contract[N]['effect'];

/** What a caller passes, beyond the options of every call. */
export type InputOf<N extends EndpointName> = Has<PathInput<N>, 'path'> &
  HasUnlessEmpty<In<Part<N, 'query'>>, 'query'> &
  (Contract[N] extends { readonly bodyOptional: true }
    ? MayHave<In<Part<N, 'body'>>, 'body'>
    : Has<In<Part<N, 'body'>>, 'body'>) &
  (Effect<N> extends 'operation' ? { readonly whenBusy?: 'wait' | 'refuse' } : unknown);

type WithEffect<E extends string> = {
  [N in EndpointName]: Effect<N> extends E ? N : never;
}[EndpointName];

type Streams = {
  [N in EndpointName]: Contract[N] extends { readonly stream: string } ? N : never;
}[EndpointName];

/** Endpoints whose request and response are one JSON document. */
export type PlainEndpoint = Exclude<EndpointName, Streams>;
export type WriteEndpoint = Exclude<WithEffect<'write' | 'operation'>, Streams>;
export type OperationEndpoint = Exclude<WithEffect<'operation'>, Streams>;
export type ListEndpoint = {
  [N in PlainEndpoint]: ResponseOf<N> extends { items: readonly unknown[]; next?: string | undefined }
    ? N
    : never;
}[PlainEndpoint];
export type ItemOf<N extends ListEndpoint> =
  ResponseOf<N> extends { items: readonly (infer T)[] } ? T : never;
