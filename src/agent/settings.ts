// The addresses of the platform. They are fixed in every cloud with Azure's protocol; tests and other platforms set them
// in a file or in the environment.
import { parseObject, type System } from './system/system.ts';

export interface AgentSettings {
  readonly metadataUrl: string;
  readonly wireServerUrl: string;
  /** How often userData is checked. */
  readonly pollMs: number;
  /** How long the metadata service can be unreachable at a start before that is reported as a failure. */
  readonly metadataDeadlineMs: number;
  /** How long services can take until they respond. */
  readonly readyDeadlineMs: number;
}

const settingsPath = '/etc/imago/agent.json';

const defaults: AgentSettings = {
  metadataUrl: 'http://169.254.169.254',
  wireServerUrl: 'http://168.63.129.16',
  pollMs: 15_000,
  metadataDeadlineMs: 300_000,
  readyDeadlineMs: 300_000,
};

/** Ignores a file that is not JSON: it must not prevent a node from applying its config. */
export function readSettings(
  system: System,
  environment: (name: string) => string | undefined,
): AgentSettings {
  const file = parseObject<AgentSettings>(system.readText(settingsPath));
  const metadataUrl = environment('IMAGO_METADATA_URL');
  const wireServerUrl = environment('IMAGO_WIRE_SERVER_URL');
  return {
    ...defaults,
    ...file,
    ...(metadataUrl === undefined ? {} : { metadataUrl }),
    ...(wireServerUrl === undefined ? {} : { wireServerUrl }),
  };
}
