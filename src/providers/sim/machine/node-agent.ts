// What the agent of a simulated node does with a config that it is given while it runs, by the rules of the real one.

import { sha256 } from '../../../cloud/state/cloud.ts';
import { ensureImagoError } from '../../../domain/error/imago-error.ts';
import type { NodeConfigRef, NodeError, NodeWaiting, PendingChange } from '../../../domain/node/report.ts';
import { agentAbilities, requireAbilities } from '../../../domain/node-config/capabilities.ts';
import { highestCost, planChanges } from '../../../domain/node-config/plan-changes.ts';
import { nodeRules, readNodeConfig } from '../../../domain/node-config/read-node-config.ts';
import type { NodeConfig } from '../../../domain/node-config/schema.ts';
import type { Traits } from '../world/traits.ts';

/** How the agent handles a document: it is active from now on, it is pending, or it was rejected or reverted. */
export interface Answer {
  readonly inForce: boolean;
  readonly pending: readonly PendingChange[];
  readonly waiting?: NodeWaiting;
  readonly error?: NodeError;
}

export function answerTo(before: string, wanted: string, traits: Traits, agentFails: boolean): Answer {
  try {
    const current = readKnown(before);
    const config = readKnown(wanted);
    requireAbilities(config.requires ?? [], agentAbilities(), (name) =>
      name === 'kubelet' && traits.kubernetes !== undefined ? [traits.kubernetes] : [],
    );
    return weigh(current, config, wanted, agentFails);
  } catch (thrown) {
    const { code, message, hint } = ensureImagoError(thrown);
    const error = { class: code, message, retry: false, ...(hint === undefined ? {} : { remedy: hint }) };
    return { inForce: false, pending: [], error };
  }
}

function weigh(current: NodeConfig, config: NodeConfig, text: string, agentFails: boolean): Answer {
  const changes = planChanges(current, config);
  const cost = highestCost(changes);
  const pending = changes.map(({ field, sentence, cost: each }) => ({ field, sentence, cost: each }));
  const held = cost === 'restart' && config.policy?.restart === 'hold';
  if (cost === 'drain' || cost === 'reimage' || held) {
    return { inForce: false, pending, waiting: { for: cost, digest: sha256(text) } };
  }
  if (!agentFails || changes.length === 0) return { inForce: true, pending: [] };
  const error = {
    class: 'operation-failed',
    message: 'containerd.service did not start (exit status 1); the last good config is active again',
    retry: false,
  };
  return { inForce: false, pending, error };
}

/** Treats an empty object as an empty config. */
function readKnown(text: string): NodeConfig {
  return text === '{}' ? { schemaVersion: 1 } : readNodeConfig(text, nodeRules).config;
}

export function configRef(text: string): NodeConfigRef {
  return { digest: sha256(text), schemaVersion: '1' };
}
