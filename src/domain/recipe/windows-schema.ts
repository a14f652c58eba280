// The shape of what only a Windows recipe says.
import * as z from 'zod';
import { remove, sha256, words } from './schema-parts.ts';

const patchClasses = ['B', 'preview', 'out-of-band'] as const;
const patchKinds = ['cumulative', 'servicing-stack', 'checkpoint', 'dotnet', 'update'] as const;
const build = z.string().regex(/^\d{5}\.\d{1,6}$/, 'is not a build with its revision, like 20348.2113');
const registryTypes = ['string', 'expand-string', 'multi-string', 'dword', 'qword', 'binary'] as const;

const patch = z
  .strictObject({
    kb: words.describe('Its number, like KB5031364.'),
    class: z
      .enum(patchClasses)
      .describe(
        '`B` is the update of the second Tuesday, `preview` an optional one of a later week, `out-of-band` what could not wait.',
      ),
    kind: z
      .enum(patchKinds)
      .optional()
      .describe('`cumulative` unless given. A checkpoint is put beside the cumulative update that needs it.'),
    build: build
      .optional()
      .describe('Build and revision (UBR) that it brings, like 20348.2113: of several, the newest counts.'),
    url: words.optional().describe('The address of the update.'),
    file: words.optional().describe('The file of the update, from the folder of the recipe.'),
    sha256: sha256.optional().describe('Of the update.'),
    prerequisites: z
      .array(words)
      .optional()
      .describe('Patches that go on before it, or that `base.updates` has; the order follows from them.'),
    private: z.literal(true).optional().describe('Makes versions restricted, and is named nowhere else.'),
    remove: remove.optional(),
  })
  .describe('An update of the system.');

const registrySetting = z
  .strictObject({
    path: words.describe('The key, like HKLM\\SYSTEM\\CurrentControlSet\\Services.'),
    name: words.describe('The name of the value.'),
    type: z.enum(registryTypes).describe('The type of the value.'),
    value: z.union([z.string(), z.number(), z.array(z.string())]).describe('The value.'),
    remove: remove.optional(),
  })
  .describe('A value in the registry.');

const service = z
  .strictObject({
    name: words.describe('The name of the service.'),
    start: z.enum(['automatic', 'manual', 'disabled']).describe('When it starts.'),
    remove: remove.optional(),
  })
  .describe('A service.');

export const windows = z
  .strictObject({
    base: z
      .strictObject({
        build: build.describe('Build and revision (UBR) of the base image, like 20348.1129.'),
        updates: z.array(words).optional().describe('KB numbers of updates that it has.'),
      })
      .optional()
      .describe('What the base image has, as its author knows it.'),
    features: z.array(words).optional().describe('Features and roles that are switched on.'),
    patches: z.array(patch).optional().describe('Updates beyond those of the base image.'),
    registry: z.array(registrySetting).optional().describe('Values in the registry.'),
    services: z.array(service).optional().describe('How services start.'),
  })
  .describe('What only a Windows image has.');
