// What every command does that writes at once, without an operation: dry run, write, print the answer.
import type { AnswerOf, InputOf, WriteEndpoint } from '../../api/contract/types.ts';
import { type FlagSpec, type Invocation, isSet } from '../spec/command.ts';
import { confirmPlan, showPlan } from './run-operation.ts';

export const writeFlags = {
  'dry-run': { what: 'say what would be done, and do nothing' },
} as const satisfies Record<string, FlagSpec>;

export interface WriteCall<N extends WriteEndpoint> {
  readonly endpoint: N;
  readonly input: InputOf<N>;
  /** Destructive: the plan is shown and confirmed first. */
  readonly irreversible?: boolean;
  /** The answer's name for `-o name`. */
  readonly name: (answer: AnswerOf<N>) => string;
  readonly lines: (answer: AnswerOf<N>) => readonly string[];
}

export async function runWrite<N extends WriteEndpoint>(
  invocation: Invocation,
  { endpoint, input, irreversible, name, lines }: WriteCall<N>,
): Promise<void> {
  const client = await invocation.client();
  if (isSet(invocation, 'dry-run')) return showPlan(invocation, client, { endpoint, input });
  if (irreversible) await confirmPlan(invocation, client, { endpoint, input });
  const answer = (await client.call(
    ...([endpoint, input] as unknown as Parameters<typeof client.call<N>>),
  )) as AnswerOf<N>;
  invocation.out.thing(answer as object, name(answer), () => lines(answer));
}
