// What became of a config on one node, read from the node's own report.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { NodeReport, PendingChange } from '../../domain/node/report.ts';

/** `stopped`: the node reads it when it starts. `waiting`: for a drain, a new disk, or leave to restart services. */
export type ConfigOutcome =
  | { readonly state: 'applied' | 'stopped' }
  | {
      readonly state: 'waiting';
      readonly for: 'restart' | 'drain' | 'reimage';
      readonly pending: readonly PendingChange[];
    };

/** `undefined` while the node has not answered. Throws `node-config-failed` if it rejected or reverted the config. */
export function configOutcome(
  node: string,
  report: NodeReport | undefined,
  digest: string,
): ConfigOutcome | undefined {
  if (report === undefined) return undefined;
  if (report.wanted?.digest === digest) {
    if (report.error !== undefined) throw refused(node, report.error);
    const { waiting, pending } = report;
    return waiting?.digest === digest ? { state: 'waiting', for: waiting.for, pending } : undefined;
  }
  if (report.config?.digest !== digest) return undefined;
  if (report.phase === 'failed' && report.error !== undefined) throw refused(node, report.error);
  return report.phase === 'ready' ? { state: 'applied' } : undefined;
}

function refused(node: string, error: NonNullable<NodeReport['error']>): ImagoError {
  return new ImagoError('node-config-failed', `Node ${node} did not take the config: ${error.message}`, {
    ...(error.remedy === undefined ? {} : { hint: error.remedy }),
    retryable: false,
    details: { node, class: error.class },
  });
}
