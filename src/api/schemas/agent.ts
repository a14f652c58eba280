// The agent for images that were built without it.
import * as z from 'zod';
import { record } from '../../domain/value/fields.ts';

export const agentScriptQuery = z.strictObject({
  url: z.string().min(1).max(2000).describe('Address that machines download the archive from.'),
});

export const agentScript = record('AgentScript', 'A script that installs the agent on a plain image.', {
  version: z.string().describe('Version of the agent.'),
  sha256: z.string().describe('Of the archive.'),
  sizeBytes: z.number(),
  script: z.string().describe('For cloud-init, as custom data: at most 30 lines.'),
});
