// Reaches what probes of rollouts check: addresses, and programs that the administrator of this host has put into a
// directory of the daemon. Users name a program; they cannot bring one.
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { ownerGuard } from '../host/network/address-guard.ts';
import { openAddress, readAddress } from '../host/network/open-address.ts';
import { runTool } from '../host/process/run-tool.ts';
import type { Prober } from '../ports/prober.ts';

const maxBytes = 1024 * 1024;
const exitCodes = Array.from({ length: 256 }, (_, code) => code);

export function openProber(folder: string): Prober {
  return {
    async status(url, signal) {
      const { status, body } = await openAddress(url, { headers: {}, signal, guard: ownerGuard });
      body.destroy();
      return status;
    },
    read: (url, signal) => readAddress(url, { headers: {}, signal, guard: ownerGuard, maxBytes }),
    has: (program) =>
      access(join(folder, program), constants.X_OK).then(
        () => true,
        () => false,
      ),
    async run(program, args, signal) {
      const options = { signal, folder, accept: exitCodes, maxOutput: maxBytes };
      const { exitCode, stdout, stderr } = await runTool(join(folder, program), args, options);
      const [firstLine = ''] = `${stdout.toString('utf8')}\n${stderr}`.trim().split('\n');
      return { exitCode, firstLine };
    },
  };
}
