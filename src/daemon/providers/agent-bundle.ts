// Imago's own program for nodes, as the image build takes it: the folder that its build made, from the root of the
// node's file system on, as one archive that is the same wherever it is made.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readAgentBundle } from '../../build/layers/agent-layer.ts';
import type { AgentBundle } from '../../build/lock/context.ts';
import { packageVersion } from '../process/version.ts';

/**
 * Returns the agent in `IMAGO_AGENT`, else in `agent` next to the bundled daemon, else in `dist/agent` of the source
 * tree. With `IMAGO_AGENT=none`, images are built without one on purpose.
 */
export async function agentBundle(
  env: Readonly<Record<string, string | undefined>>,
): Promise<AgentBundle | 'missing' | undefined> {
  if (env.IMAGO_AGENT === 'none') return undefined;
  const places = env.IMAGO_AGENT
    ? [env.IMAGO_AGENT]
    : ['./agent', '../../../dist/agent'].map((path) => fileURLToPath(new URL(path, import.meta.url)));
  const folder = places.find((place) => existsSync(place));
  return folder === undefined ? 'missing' : readAgentBundle(folder, packageVersion());
}
