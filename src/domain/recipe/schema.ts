// The shape of a recipe as people write it, strict. The published JSON Schema is made from it, so every field
// says what it is for. Rules that no schema can state are the domain's.
import * as z from 'zod';
import { numberingPolicies } from '../image/numbering.ts';
import { architectures, operatingSystems } from '../image/platform.ts';
import { component } from './component-schema.ts';
import { duration, named, oneOf, remove, size, timed, words } from './schema-parts.ts';
import { settings } from './settings-schema.ts';
import { windows } from './windows-schema.ts';

/** `assemble` puts the disk together offline; `machine` runs steps on a machine and seals its disk. */
export const buildMethods = ['assemble', 'machine'] as const;

/** The two generations of virtual machines: UEFI and BIOS. */
export const bootFirmwares = ['uefi', 'bios'] as const;

const packageItem = z
  .union([
    z.string().min(1).describe('The name of a Debian package.'),
    z.strictObject({
      name: z.string().min(1).describe('The name of a Debian package.'),
      version: words
        .optional()
        .describe('Its Debian version, or the upstream part of it. Whatever the archive has when left out.'),
      remove: remove.optional(),
    }),
  ])
  .transform(named)
  .describe('A Debian package; what it depends on comes along.');

const base = z
  .strictObject({
    distribution: z.enum(['debian']).optional().describe('The distribution. Debian when left out.'),
    suite: words.optional().describe('The release, by its code name. `trixie` when left out.'),
    mirror: words.optional().describe("The archive's address. That of this machine's apt when left out."),
    securityMirror: words
      .optional()
      .describe('The address of the archive with security updates. Beside the mirror when left out.'),
    components: z
      .array(words)
      .min(1)
      .optional()
      .describe('The parts of the archive to take packages from. `main` when left out.'),
    keys: z
      .array(z.string().startsWith('-----BEGIN PGP PUBLIC KEY BLOCK-----').max(65_536))
      .min(1)
      .optional()
      .describe(
        'OpenPGP public keys in ASCII armor, one of which must have signed the archive. Needs `mirror`. Debian’s keys when left out.',
      ),
    packages: z
      .array(packageItem)
      .optional()
      .describe('Packages of the base system, beyond those that every node has. They change rarely.'),
    image: words
      .optional()
      .describe(
        'With `method: machine`: the version that the machine is started from, as NAME:VERSION, NAME:CHANNEL or NAME. The lock has its digest.',
      ),
  })
  .describe('The base system.');

export type ImageSource =
  | { registry: string; digest?: string }
  | { layout: string; digest?: string }
  | { tar: string; sha256?: string };

const image = z
  .union([
    z.string().min(1).describe("The image's name, which is also where it is pulled from."),
    z.strictObject({
      name: z.string().min(1).describe('The name that containers ask for, with its tag.'),
      from: z
        .strictObject({
          registry: words.optional().describe('A reference in a registry.'),
          layout: words.optional().describe('A folder in OCI layout, from the folder of the recipe.'),
          tar: words
            .optional()
            .describe('An archive made by `docker save` or of an OCI layout; a path or an address.'),
          digest: words
            .optional()
            .describe('The digest of the manifest, to fix it here and not only in the lock.'),
          sha256: words.optional().describe('Of the archive, to fix it here and not only in the lock.'),
        })
        .superRefine(
          oneOf(['registry', 'layout', 'tar'], { digest: ['registry', 'layout'], sha256: ['tar'] }),
        )
        .transform((source) => source as ImageSource)
        .optional()
        .describe(
          'Where it comes from: one of `registry`, `layout` and `tar`. The registry of its name when left out.',
        ),
      pinned: z.literal(true).optional().describe('The kubelet never removes it to gain space.'),
      private: z.literal(true).optional().describe('Makes versions restricted, and is named nowhere else.'),
      remove: remove.optional(),
    }),
  ])
  .transform(named)
  .describe('A container image that is on the disk, unpacked and ready to run.');

const step = z
  .strictObject({
    name: words.describe('What the step is called in logs.'),
    run: z
      .string()
      .min(1)
      .optional()
      .describe("A script for the machine's shell, which ends at the first command that fails."),
    file: words.optional().describe('The file of a script, from the folder of the recipe.'),
    restart: z.literal(true).optional().describe('The machine is started anew afterwards.'),
    timeout: duration.optional().describe('How long it may take. Half an hour when left out.'),
    remove: remove.optional(),
  })
  .transform(timed)
  .describe('What is done on the machine.');

const test = z
  .strictObject({
    name: words.describe('What the test is called in evidence.'),
    run: z.string().min(1).describe("A command line for the node's shell; it passes when it ends with 0."),
    timeout: duration.optional().describe('How long it may take.'),
    remove: remove.optional(),
  })
  .transform(timed)
  .describe('A check on a fresh machine that booted the sealed version.');

function isDay(text: string): boolean {
  const time = new Date(`${text}T00:00:00Z`);
  return /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text) && time.toJSON()?.startsWith(text) === true;
}

export const recipeSchema = z
  .strictObject({
    $schema: z.string().optional().describe('For editors; ignored.'),
    extends: z
      .union([words, z.array(words)])
      .optional()
      .describe(
        'Recipes that this one stands on, from its own folder. What is said here comes over what they say.',
      ),
    name: z.string().describe('The image that versions are made of.'),
    numbering: z.enum(numberingPolicies).default('semver').describe('How versions are numbered.'),
    os: z.enum(operatingSystems).default('linux').describe('The operating system.'),
    method: z
      .enum(buildMethods)
      .optional()
      .describe(
        '`assemble` puts the disk together offline; `machine` runs steps on a machine and seals its disk.',
      ),
    architecture: z.enum(architectures).default('x64').describe('The processor.'),
    kubernetes: words.optional().describe('The Kubernetes version; the variable `kubernetes` stands for it.'),
    matrix: z
      .strictObject({
        kubernetes: z
          .array(words)
          .describe('Kubernetes versions. The layers that they share are built once.'),
      })
      .optional()
      .describe('One version of the image for each of these.'),
    base: base.optional(),
    disk: z
      .strictObject({ size: size.describe('Whole MiB; the root grows to whatever disk a machine has.') })
      .transform((disk) => ({ sizeBytes: disk.size }))
      .optional()
      .describe('The disk. As large as its content needs when left out.'),
    packages: z.array(packageItem).optional().describe('Debian packages of the node, above the base system.'),
    components: z.array(component).prefault([]).describe('Versioned things on the node.'),
    images: z.array(image).optional().describe('Container images on the disk.'),
    settings: settings.prefault({}),
    windows: windows.optional(),
    steps: z.array(step).optional().describe('With `method: machine`: what is done on it, in this order.'),
    tests: z.array(test).optional().describe('Checks on a fresh machine before a version becomes available.'),
    firmware: z
      .array(z.enum(bootFirmwares))
      .min(1)
      .optional()
      .describe(
        'How machines start it. A version is available once tests passed with each kind; both by default.',
      ),
    budgets: z
      .strictObject({
        size: size.optional().describe('What the files may take up on the disk.'),
        bootToReady: duration.optional().describe('How long a node may take from power on to ready.'),
      })
      .transform(
        ({
          size: sizeBytes,
          bootToReady: bootToReadyMs,
        }): { sizeBytes?: number | undefined; bootToReadyMs?: number | undefined } => ({
          sizeBytes,
          bootToReadyMs,
        }),
      )
      .optional()
      .describe('What a version may cost; one that costs more fails.'),
    expect: z
      .strictObject({
        ports: z
          .array(z.int().min(1).max(65_535))
          .optional()
          .describe('Ports that programs of the image open to the network, of TCP or UDP.'),
        setuid: z
          .array(words)
          .optional()
          .describe('Programs that have the setuid or the setgid bit: absolute paths on the node.'),
      })
      .optional()
      .describe('What the built-in checks let pass on this image, beyond what they know of every node.'),
    support: z
      .strictObject({ until: z.string().refine(isDay, 'is not a day like 2027-02-28') })
      .optional()
      .describe(
        'Until when its versions are supported; the earlier of this and the Kubernetes calendar counts.',
      ),
    notes: z.string().optional().describe('Goes into the release notes as it is.'),
  })
  .describe('What is on a node: the single source of truth.');

export type WrittenRecipe = z.output<typeof recipeSchema>;

/** The JSON Schema by which editors complete and check recipes. */
export function recipeJsonSchema(): unknown {
  const schema = z.toJSONSchema(recipeSchema, { io: 'input', reused: 'inline' });
  return { ...schema, title: 'Imago recipe' };
}
