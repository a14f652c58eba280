// Names the provider of requests that name none, and what this host needs so that it is complete.
import { machinePackages, qemuName } from './doctor/machines.ts';
import { findProgram, installCommand } from './doctor/probe.ts';

/** Only a setting, a flag, IMAGO_PROVIDER, or a request selects the simulation. */
export const defaultProvider = 'local';

/** The hint for commands that need machines on a host that cannot start any; `undefined` if it can. */
export function missingPrograms(
  find: (program: string) => string | undefined = findProgram,
): string | undefined {
  const missing = [qemuName(), 'qemu-img'].filter((program) => find(program) === undefined);
  if (missing.length === 0) return undefined;
  return `${missing.join(' and ')} not found. Install QEMU: ${installCommand(machinePackages())}; then restart the daemon (\`imago down\`, \`imago up\`). To simulate instead, pass --provider sim.`;
}
