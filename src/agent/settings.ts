// Where the agent finds its platform. The addresses are fixed in every cloud that speaks Azure's protocol; tests and
// other platforms set them in a file or in the environment.
import type { System } from './system/system.ts';

export interface AgentSettings {
  readonly metadataUrl: string;
  readonly wireServerUrl: string;
  /** How often userData is looked at. */
  readonly pollMs: number;
  /** How long the metadata service may be silent at a start before that is reported as a failure. */
  readonly metadataDeadlineMs: number;
  /** How long services may take until they answer. */
  readonly readyDeadlineMs: number;
}

const settingsPath = '/etc/imago/agent.json';

const usual: AgentSettings = {
  metadataUrl: 'http://169.254.169.254',
  wireServerUrl: 'http://168.63.129.16',
  pollMs: 15_000,
  metadataDeadlineMs: 300_000,
  readyDeadlineMs: 300_000,
};

/** A file that is no JSON is passed over: it must not keep a node from its config. */
export function readSettings(
  system: System,
  environment: (name: string) => string | undefined,
): AgentSettings {
  const file = parse(system.readText(settingsPath));
  const metadataUrl = environment('IMAGO_METADATA_URL');
  const wireServerUrl = environment('IMAGO_WIRE_SERVER_URL');
  return {
    ...usual,
    ...file,
    ...(metadataUrl === undefined ? {} : { metadataUrl }),
    ...(wireServerUrl === undefined ? {} : { wireServerUrl }),
  };
}

function parse(text: string | undefined): Partial<AgentSettings> {
  try {
    return text === undefined ? {} : (JSON.parse(text) as Partial<AgentSettings>);
  } catch {
    return {};
  }
}
