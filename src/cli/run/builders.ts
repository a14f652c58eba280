// Builds commands that call one endpoint. Arguments and flags are sent as the fields of the same names; what is special
// about a command is the rest. Help and completion do not load the code that runs commands.
import type {
  ListEndpoint,
  OperationEndpoint,
  PlainEndpoint,
  WriteEndpoint,
} from '../../api/contract/types.ts';
import type { ListSpec, OperationSpec, ShowSpec, WriteSpec } from '../spec/call.ts';
import {
  type CommandEntry,
  type CommandGroup,
  type CommandSpec,
  dryRunFlag,
  type LazyCommand,
  operationFlags,
  watchFlag,
  yesFlag,
} from '../spec/command.ts';

const runner = () => import('./run-command.ts');

export function group<C extends Readonly<Record<string, CommandEntry>>>(commands: C) {
  return { commands } satisfies CommandGroup;
}

/** A command or group that is loaded when it is used. Its summary is known before. */
export function subject(summary: string, load: LazyCommand['load']): LazyCommand {
  return { summary, load };
}

/** Prints a table of items, with --watch also what changes afterwards. */
export function list<N extends ListEndpoint>(endpoint: N, spec: ListSpec<N>): CommandSpec {
  const whole = { ...spec, flags: { ...spec.flags, ...watchFlag } };
  return {
    ...whole,
    endpoint,
    run: async (invocation) => (await runner()).runList(invocation, endpoint, whole),
  };
}

/** Prints one thing. */
export function show<N extends PlainEndpoint>(endpoint: N, spec: ShowSpec<N>): CommandSpec {
  return {
    ...spec,
    endpoint,
    run: async (invocation) => (await runner()).runShow(invocation, endpoint, spec),
  };
}

/** Writes, and prints the response. Has --dry-run, and --yes if it is irreversible. */
export function write<N extends WriteEndpoint>(endpoint: N, spec: WriteSpec<N>): CommandSpec {
  const flags = { ...spec.flags, ...(spec.irreversible && yesFlag), ...dryRunFlag };
  const whole = { ...spec, flags };
  return {
    ...whole,
    endpoint,
    run: async (invocation) => (await runner()).runWrite(invocation, endpoint, whole),
  };
}

/** Starts an operation, follows it, and prints its result. */
export function operation(endpoint: OperationEndpoint, spec: OperationSpec): CommandSpec {
  const flags = { ...spec.flags, ...(spec.irreversible && yesFlag), ...operationFlags };
  const whole = { ...spec, flags };
  return {
    ...whole,
    endpoint,
    run: async (invocation) => (await runner()).runOperation(invocation, endpoint, whole),
  };
}
