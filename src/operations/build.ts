// Build: lock the recipe, build the disk, seal it as a candidate with a number of its own.
// The same lock gives the same version back: nothing is numbered twice (rules 5 and 11).
import * as z from 'zod';
import { canonicalJson } from '../domain/canonical-json.ts';
import type { Json } from '../domain/json.ts';
import { type NumberBump, nextNumber } from '../domain/numbering.ts';
import type { VersionRecord } from '../ports/catalogue.ts';
import type { OperationKind, StepContext, WorkStep } from '../ports/operation.ts';
import type { SealedDisk } from '../ports/provider-builder.ts';
import { callOptions, type OperationDeps, requireRole } from './deps.ts';
import { parseInput } from './parse-input.ts';
import { requireResult } from './step-result.ts';

const buildInput = z.object({
  recipe: z.looseObject({
    name: z.string(),
    numbering: z.enum(['semver', 'date', 'calendar', 'kubernetes', 'kubernetes-build']).default('semver'),
    os: z.enum(['linux', 'windows']).default('linux'),
    architecture: z.enum(['x64', 'arm64']).default('x64'),
    kubernetes: z.string().optional(),
  }),
  provider: z.string().optional(),
  bump: z.enum(['patch', 'minor', 'major']).optional(),
});
export type BuildInput = z.infer<typeof buildInput>;

interface Locked {
  readonly lock: Json;
  readonly lockDigest: string;
}

interface Sealed {
  readonly image: string;
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
}

export function buildOperation(deps: OperationDeps): OperationKind<BuildInput> {
  return {
    kind: 'build',
    parse: (input) => parseInput(buildInput, input),
    async plan({ recipe, provider }) {
      requireRole(deps.provider(provider), 'builder');
      return [
        `Lock recipe ${recipe.name}.`,
        'Build the disk, layer by layer.',
        `Seal it as a candidate of ${recipe.name}.`,
      ];
    },
    steps: () => [lockStep(deps), buildStep(deps), sealStep(deps)],
  };
}

function lockStep(deps: OperationDeps): WorkStep<BuildInput> {
  return {
    name: 'lock',
    async do(context) {
      const builder = requireRole(deps.provider(context.input.provider), 'builder');
      const lock = await builder.lock(
        context.input.recipe as Json,
        context,
        callOptions(deps, context.signal),
      );
      return { lock, lockDigest: `sha256:${deps.sha256(canonicalJson(lock))}` };
    },
  };
}

function buildStep(deps: OperationDeps): WorkStep<BuildInput> {
  return {
    name: 'build',
    async do(context) {
      const builder = requireRole(deps.provider(context.input.provider), 'builder');
      return { ...(await builder.build(locked(context), context, callOptions(deps, context.signal))) };
    },
    async verify(context) {
      const builder = requireRole(deps.provider(context.input.provider), 'builder');
      const found = await builder.find(locked(context).lockDigest, callOptions(deps, context.signal));
      return found && { ...found };
    },
  };
}

function sealStep(deps: OperationDeps): WorkStep<BuildInput> {
  const { catalogue } = deps;
  return {
    name: 'seal',
    async do(context) {
      const { recipe } = context.input;
      const { lockDigest } = locked(context);
      const disk = requireResult<SealedDisk>(context, 'build');
      const image = await catalogue.ensureImage({
        name: recipe.name,
        os: recipe.os,
        architecture: recipe.architecture,
        numbering: recipe.numbering,
      });
      const operation = context.operation.id;
      const version = await catalogue.reserveNumber(recipe.name, operation, (used) =>
        nextNumber(image.numbering, {
          used,
          now: new Date(context.clock.now()),
          ...(recipe.kubernetes === undefined ? {} : { kubernetes: recipe.kubernetes }),
          ...(context.input.bump === undefined ? {} : { bump: context.input.bump satisfies NumberBump }),
        }),
      );
      const added = await catalogue.addVersion({
        image: recipe.name,
        version,
        ...disk,
        origin: { kind: 'built', lockDigest },
        ...(recipe.kubernetes === undefined ? {} : { kubernetes: recipe.kubernetes }),
        operation,
      });
      return sealed(added, operation);
    },
    async verify(context) {
      const found = await catalogue.findVersionByLock(context.input.recipe.name, locked(context).lockDigest);
      return found && sealed(found, context.operation.id);
    },
    async undo(context) {
      const found = await catalogue.findVersionByLock(context.input.recipe.name, locked(context).lockDigest);
      if (found?.operation !== context.operation.id) return;
      await catalogue.dropVersion(found.image, found.version);
    },
  };
}

function sealed(version: VersionRecord, operation: string): Json & Sealed {
  const { image, version: number, digest } = version;
  return { image, version: number, digest, reused: version.operation !== operation };
}

function locked(context: StepContext<BuildInput>): Locked {
  return requireResult<Locked>(context, 'lock');
}
