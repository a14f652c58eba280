// The shape of one component of a recipe.
import * as z from 'zod';
import { configFile, oneOf, remove, sha256, textFields, words } from './schema-parts.ts';

/** One hash for every version, or one for each. */
export type ExpectedSha256 = string | Record<string, string>;

export type ComponentSource =
  | { package: string }
  | { url: string; sha256?: ExpectedSha256 }
  | { file: string; sha256?: ExpectedSha256 }
  | { folder: string }
  | { tar: string; sha256?: ExpectedSha256; strip?: number; only?: string[] }
  | { oci: string; layout?: string; digest?: string };

const source = z
  .strictObject({
    package: words.optional().describe('A Debian package.'),
    url: words
      .optional()
      .describe('The address of a file; the variables `version` and `machine` are written out in it.'),
    file: words.optional().describe('A file, from the folder of the recipe.'),
    folder: words.optional().describe('A folder with all below it, from the folder of the recipe.'),
    tar: words
      .optional()
      .describe('A tar archive, also compressed by gzip, xz or zstd: a path or an address.'),
    oci: words
      .optional()
      .describe('An OCI artifact, by its reference in a registry or its tag in a `layout`.'),
    layout: words.optional().describe('With `oci`: a folder in OCI layout that holds it.'),
    digest: words.optional().describe('With `oci`: the digest of its manifest, to fix it here.'),
    sha256: z
      .union([sha256, z.record(z.string(), sha256).describe('One for each version.')])
      .optional()
      .describe('Of what the source gives, to fix it here and not only in the lock.'),
    strip: z.int().min(0).optional().describe('With `tar`: leading folders that are left out.'),
    only: z.array(words).optional().describe('With `tar`: only these paths, after `strip`.'),
  })
  .superRefine(
    oneOf(['package', 'url', 'file', 'folder', 'tar', 'oci'], {
      sha256: ['url', 'file', 'tar'],
      layout: ['oci'],
      digest: ['oci'],
      strip: ['tar'],
      only: ['tar'],
    }),
  )
  .transform((given) => given as ComponentSource)
  .describe('Where it comes from: one of `package`, `url`, `file`, `folder`, `tar` and `oci`.');

const unit = z
  .strictObject({
    name: words.optional().describe('NAME.service after the component when left out.'),
    ...textFields,
    enable: z.boolean().optional().describe('Whether it starts with the node. True when left out.'),
  })
  .describe('A systemd unit that belongs to it.');

const pick = z
  .strictObject({
    link: words.describe('A symbolic link to the version in use, made at first boot.'),
    default: words.describe('The version of a node whose config names none.'),
  })
  .describe('Which of several versions is in use.');

const updates = z
  .strictObject({
    page: words.describe('The address of a text in which versions are named.'),
    pattern: words.describe('A regular expression whose first group is a version.'),
    within: z
      .enum(['patch', 'minor', 'any'])
      .optional()
      .describe('How far a newer version may be away. `patch` when left out.'),
  })
  .describe('Where newer versions are found, for `imago recipe outdated`.');

export const component = z
  .strictObject({
    name: words.describe('What it is called in locks, notes and hotfixes.'),
    version: words.optional().describe('Its version; the variable `kubernetes` is written out in it.'),
    versions: z.array(words).optional().describe('Several versions side by side on one image.'),
    from: source.optional().describe('Where it comes from. The Debian package of its name when left out.'),
    to: words
      .optional()
      .describe('Where it goes: the path of a file for `url` and `file`, of a folder for the others.'),
    mode: z
      .string()
      .optional()
      .describe(
        'Permission bits of a file, or of the files of an artifact, in octal and in quotes. "0755" when left out.',
      ),
    unit: unit.optional(),
    config: z.array(configFile).optional().describe('Files that configure it.'),
    pick: pick.optional(),
    updates: updates.optional(),
    private: z
      .literal(true)
      .optional()
      .describe(
        'Makes versions restricted: named pools only. Its name and address stay out of notes and logs.',
      ),
    remove: remove.optional(),
  })
  .describe('One versioned thing on the node.');
