// What the first start of a Windows node does. The image carries a manifest of what its build did already: files that are
// cached, and settings that hold. A plain Windows Server has no manifest, and everything is done there. The script
// `first-boot.ps1` follows the same rules on the node; the plan here is for previews and tests.
import * as z from 'zod';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
/** An absolute path without parts that lead elsewhere, and without what PowerShell would expand. */
const path = z.string().regex(/^C:(?:\\(?!\.{1,2}(?:\\|$))[A-Za-z0-9][A-Za-z0-9._ ()-]*)+$/);
const item = z.strictObject({ name: z.string().min(1), version: z.string(), path, sha256 });

/** Where the image keeps it. */
export const manifestPath = 'C:\\imago\\manifest.json';

export const imageManifest = z.strictObject({
  format: z.literal(1),
  image: z.string(),
  files: z.array(item),
  /** Names of settings that the build applied. */
  settings: z.array(z.string()),
});
export type ImageManifest = z.output<typeof imageManifest>;

const setting = z.strictObject({
  name: z.string().min(1),
  key: z.string().regex(/^HKLM:\\[A-Za-z0-9][A-Za-z0-9 \\._-]*$/),
  value: z.string().min(1),
  type: z.enum(['String', 'DWord']),
  data: z.union([z.string(), z.number()]),
});

/** What the node config says for Windows: the same document, from instance metadata. */
export const windowsNodeConfig = z.object({
  schemaVersion: z.literal(1),
  windows: z.strictObject({
    files: z.array(item.extend({ url: z.url({ protocol: /^https$/ }) })),
    settings: z.array(setting).default([]),
    services: z.array(z.string().regex(/^[A-Za-z0-9_.-]+$/)).default([]),
  }),
});
export type WindowsNodeConfig = z.output<typeof windowsNodeConfig>;

export type FirstBootStep =
  | { readonly do: 'use' | 'download'; readonly name: string; readonly path: string }
  | { readonly do: 'set' | 'keep'; readonly name: string }
  | { readonly do: 'start'; readonly name: string };

/**
 * In order: files, settings, services. A cached file counts only with the sha256 that is wanted at its path; `onDisk`
 * are the hashes of what is there now, so that a second run plans nothing but checks.
 */
export function planFirstBoot(
  { windows: { files, settings, services } }: WindowsNodeConfig,
  manifest: ImageManifest | undefined,
  onDisk: ReadonlyMap<string, string> = new Map(
    (manifest?.files ?? []).map((file) => [file.path.toLowerCase(), file.sha256]),
  ),
): readonly FirstBootStep[] {
  return [
    ...files.map(({ name, path: place, sha256: wanted }) => ({
      do: onDisk.get(place.toLowerCase()) === wanted ? ('use' as const) : ('download' as const),
      name,
      path: place,
    })),
    ...settings.map(({ name }) => ({
      do: manifest?.settings.includes(name) === true ? ('keep' as const) : ('set' as const),
      name,
    })),
    ...services.map((name) => ({ do: 'start' as const, name })),
  ];
}
