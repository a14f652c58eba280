// Takes a withdrawal back. Channels and nodes stay where they are: moving them is decided anew.
import * as z from 'zod';
import { checkReason, liftable } from '../../domain/withdrawal/withdrawal.ts';
import type { OperationKind, WorkStep } from '../../ports/workflow/operation.ts';
import { parseInput } from '../../workflow/parse-input.ts';
import { requireResult } from '../../workflow/step-result.ts';
import type { OperationDeps } from '../common/deps.ts';

const restoreInput = z.object({ image: z.string(), version: z.string(), why: z.string() });
export type RestoreVersionInput = z.infer<typeof restoreInput>;

export function restoreVersionOperation(deps: OperationDeps): OperationKind<RestoreVersionInput> {
  return {
    kind: 'restore-version',
    parse(input) {
      const parsed = parseInput(restoreInput, input);
      checkReason(`${parsed.image}:${parsed.version}`, parsed.why);
      return parsed;
    },
    key: (_input, id) => `restore/${id}`,
    async plan({ image, version }) {
      const name = `${image}:${version}`;
      const record = await deps.catalogue.getVersion(image, version);
      if (record === undefined) await deps.catalogue.resolve(name);
      const all = await deps.lifecycle.withdrawals.of({ image, version });
      const ancestors = new Map<number, string>();
      for (const { cause } of all) {
        const ancestor = cause === undefined ? undefined : await deps.lifecycle.withdrawals.get(cause);
        if (ancestor !== undefined) ancestors.set(ancestor.id, `${ancestor.image}:${ancestor.version}`);
      }
      const lifted = liftable(name, record?.state ?? 'unknown', all, (cause) => ancestors.get(cause) ?? name);
      const planned = lifted.length > 0 && lifted.every(({ appliedAt }) => appliedAt === undefined);
      return [
        planned ? `Call off the withdrawal of ${name}.` : `Make ${name} usable again.`,
        'Channels and nodes stay where they are.',
      ];
    },
    steps: () => [restoreStep(deps)],
    result: (context) => requireResult(context, 'restore'),
  };
}

function restoreStep(deps: OperationDeps): WorkStep<RestoreVersionInput> {
  return {
    name: 'restore',
    async do({ input, operation }) {
      const { image, version, why } = input;
      const { by, id } = operation;
      const outcome = await deps.lifecycle.withdrawals.restore(
        { image, version },
        { by, why, operation: id },
      );
      return {
        image,
        version,
        state: outcome.version.state,
        restored: outcome.restored.map((name) => `${name.image}:${name.version}`),
        left: outcome.left.map((channel) => ({ ...channel })),
      };
    },
  };
}
