// Explains which nodes of a pool can be captured.
import { readDonors } from '../../../operations/capture/donors.ts';
import type { Handlers } from '../endpoint/call.ts';
import { requireProvider } from '../endpoint/require-provider.ts';

export const captureHandlers = {
  async explainCapture({ context, path, body, signal }) {
    const { choice } = await readDonors(
      {
        ...context,
        call: { signal, epoch: context.epoch ?? 0 },
        provider: (name) => requireProvider(context, name),
        clusterOf: async ({ cluster }) =>
          cluster === undefined ? undefined : context.clusters?.open(cluster),
      },
      path.pool,
      body,
    );
    return choice;
  },
} satisfies Partial<Handlers>;
