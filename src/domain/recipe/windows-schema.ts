// The shape of what only a Windows recipe says.
import * as z from 'zod';
import { remove, sha256, words } from './schema-parts.ts';

const patchClasses = ['B', 'C', 'out-of-band'] as const;
const registryTypes = ['string', 'expand-string', 'multi-string', 'dword', 'qword', 'binary'] as const;

const patch = z
  .strictObject({
    kb: words.describe('Its number, like KB5031364.'),
    class: z
      .enum(patchClasses)
      .describe('`B` is the monthly update, `C` its preview, `out-of-band` what could not wait.'),
    url: words.optional().describe('The address of the update.'),
    file: words.optional().describe('The file of the update, from the folder of the recipe.'),
    sha256: sha256.optional().describe('Of the update.'),
    prerequisites: z
      .array(words)
      .optional()
      .describe('Patches that go on before it; the order follows from them.'),
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
    features: z.array(words).optional().describe('Features and roles that are switched on.'),
    patches: z.array(patch).optional().describe('Updates beyond those of the base image.'),
    registry: z.array(registrySetting).optional().describe('Values in the registry.'),
    services: z.array(service).optional().describe('How services start.'),
  })
  .describe('What only a Windows image has.');
