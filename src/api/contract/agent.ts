// The agent for images that were built without it.
import { agentScript, agentScriptQuery } from '../schemas/agent.ts';
import { endpoints, read } from './endpoint.ts';

export const agentContract = endpoints('Nodes', {
  readAgent: read('GET /v1/agent/archive', 'Download the archive of the agent (tar, gzip)', {
    stream: 'download',
  }),
  showAgentScript: read('GET /v1/agent/script', 'Show the script that installs the agent on a plain image', {
    query: agentScriptQuery,
    response: agentScript,
  }),
});
