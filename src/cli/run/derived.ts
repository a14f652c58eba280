// Builds the commands that endpoints declare, and adds them to the group of their first word.
import type { DerivedCommand, DerivedFlag } from '../../api/contract/command.ts';
import { derivedCommands } from '../../api/contract/commands.generated.ts';
import type {
  ListEndpoint,
  OperationEndpoint,
  PlainEndpoint,
  WriteEndpoint,
} from '../../api/contract/types.ts';
import { formatCell, keyValueLines } from '../output/table.ts';
import type { Result } from '../spec/call.ts';
import {
  type Command,
  type CommandEntry,
  type CommandSpec,
  type Completes,
  type FlagSpec,
  type FlagSpecs,
  isGroup,
  readNumber,
} from '../spec/command.ts';
import { list, operation, show, write } from './builders.ts';

/** Adds the declared commands to each group that is loaded on demand. A command that is written by hand wins. */
export function withDerived<C extends Readonly<Record<string, CommandEntry>>>(
  commands: C,
  derived: readonly DerivedCommand[] = derivedCommands,
): C {
  const entries = Object.entries(commands).map(([name, entry]) => {
    const own = derived.filter(({ words }) => words.startsWith(`${name} `));
    if (own.length === 0 || !('load' in entry)) return [name, entry];
    return [name, { ...entry, load: async () => ({ command: extend((await entry.load()).command, own) }) }];
  });
  return Object.fromEntries(entries);
}

function extend(group: Command, derived: readonly DerivedCommand[]): Command {
  if (!isGroup(group)) return group;
  const more = derived.map((command) => [command.words.split(' ').at(-1), commandFrom(command)]);
  return { ...group, commands: { ...group.commands, ...Object.fromEntries(more), ...group.commands } };
}

/** The flags of a declared command, for another command that takes the same. */
export function derivedFlags(endpoint: string): FlagSpecs {
  return flagsFrom(derivedCommands.find((one) => one.endpoint === endpoint)?.flags ?? {});
}

function flagsFrom(flags: DerivedCommand['flags']): FlagSpecs {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, flagFrom(flag)]));
}

/** The types of the endpoint were checked where it was declared. */
function commandFrom({
  endpoint,
  effect,
  columns,
  done,
  irreversible,
  ...command
}: DerivedCommand): CommandSpec {
  const { summary, details, examples } = command;
  const args = command.args.map((arg) => ({ ...arg, ...completion(arg.field) }));
  const flags = flagsFrom(command.flags);
  const texts = { summary, ...(details !== undefined && { details }), args, flags, examples };
  if (columns !== undefined) return list(endpoint as ListEndpoint, { ...texts, columns: columns as never });
  if (effect === 'read' || effect === 'query') return show(endpoint as PlainEndpoint, texts);
  const changes = {
    ...texts,
    ...(irreversible && { irreversible }),
    done: (result: object) =>
      done === undefined ? keyValueLines(result as Result) : fill(done, result as Result),
  };
  return effect === 'write'
    ? write(endpoint as WriteEndpoint, changes)
    : operation(endpoint as OperationEndpoint, changes);
}

function flagFrom({ number, field, description, value, required, repeated, choices }: DerivedFlag): FlagSpec {
  return {
    ...{ field, description },
    ...(value !== undefined && { value }),
    ...(required && { required }),
    ...(repeated && { repeated }),
    ...(choices && { choices }),
    ...(number && { read: readNumber }),
  };
}

const completed: readonly Completes[] = ['image', 'pool', 'node', 'operation', 'channel'];

function completion(field: string): { readonly completes?: Completes } {
  const completes = completed.find((one) => one === field);
  return completes === undefined ? {} : { completes };
}

/** Replaces `{field}` by the field of the result. */
function fill(template: string, result: Result): string {
  return template.replace(/\{(\w+)\}/g, (_, field: string) => formatCell(result[field]) ?? '');
}
