// src/api/contract/addresses.generated.ts and commands.generated.ts: the addresses of the contract and the commands that
// it declares, as plain data, so that a command starts without loading the schemas.
import { commandOf } from '../src/api/contract/command.ts';
import { contract, contractOf, endpointNames } from '../src/api/contract/contract.ts';

export function clientAddresses(): string {
  return [
    '// Generated from the contract by `npm run generate`.',
    "import type { EndpointName } from './contract.ts';",
    '',
    'export const addresses: Readonly<Record<EndpointName, string>> = {',
    ...Object.entries(contract).map(([name, { address }]) => `  ${name}: '${address}',`),
    '};',
    '',
  ].join('\n');
}

export function clientCommands(): string {
  const derived = endpointNames.flatMap((name) => commandOf(name, contractOf(name)) ?? []);
  return [
    '// Generated from the contract by `npm run generate`.',
    "import type { DerivedCommand } from './command.ts';",
    '',
    'export const derivedCommands: readonly DerivedCommand[] = [',
    ...derived.map((command) => `  ${JSON.stringify(command)},`),
    '];',
    '',
  ].join('\n');
}
