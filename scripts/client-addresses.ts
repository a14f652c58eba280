// src/api/contract/addresses.generated.ts: the addresses of the contract as plain data, so that a command starts
// without loading the schemas.
import { contract } from '../src/api/contract/contract.ts';

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
