// The agent for images that were built without it. The archive is the one that this daemon puts on images.
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { agentInstallScript } from '../../../domain/agent/install-script.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { byteResponse } from '../response/byte-response.ts';

export const agentHandlers = {
  async readAgent({ context }) {
    const { archive } = await readArchive(context);
    async function* content() {
      yield archive;
    }
    return byteResponse(content(), archive.length);
  },
  async showAgentScript({ context, query: { url } }) {
    const { version, archive } = await readArchive(context);
    const sha256 = createHash('sha256').update(archive).digest('hex');
    return { version, sha256, sizeBytes: archive.length, script: agentInstallScript({ url, sha256 }) };
  },
} satisfies Partial<Handlers>;

/** The same agent gives the same bytes: scripts name their sha256. */
async function readArchive({ agent }: DaemonContext) {
  const { version, archive } = await agent();
  return { version, archive: await promisify(gzip)(archive, { level: 9 }) };
}
