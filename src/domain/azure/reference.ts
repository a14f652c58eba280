// The reference to a version in Azure Compute Gallery, as other tools take it.
import { ImagoError } from '../error/imago-error.ts';

export const imageTools = ['az', 'bicep', 'capz', 'terraform'] as const;
type ImageTool = (typeof imageTools)[number];

interface AzurePlace {
  readonly subscription: string;
  readonly group: string;
  readonly gallery: string;
}

/** Reads the place from the settings. Throws `provider-unknown` if Azure is not turned on. */
export function azurePlace(settings: Readonly<Record<string, string | number | undefined>>): AzurePlace {
  const { 'azure-subscription': subscription, 'azure-resource-group': group } = settings;
  if (subscription !== undefined && group !== undefined) {
    const gallery = String(settings['azure-gallery'] ?? 'imago');
    return { subscription: String(subscription), group: String(group), gallery };
  }
  throw new ImagoError('provider-unknown', 'The settings name no gallery in Azure.', {
    hint: 'Set azure-subscription and azure-resource-group with `imago config set`.',
  });
}

export function imageReference(
  tool: ImageTool,
  { subscription, group, gallery }: AzurePlace,
  { image, version }: { readonly image: string; readonly version: string },
): { readonly id: string; readonly text: string } {
  const scope = `/subscriptions/${subscription}/resourceGroups/${group}`;
  const id = `${scope}/providers/Microsoft.Compute/galleries/${gallery}/images/${image}/versions/${version}`;
  const texts = {
    az: `--image ${id}`,
    capz: [
      ...['image:', '  computeGallery:', `    gallery: ${gallery}`, `    name: ${image}`],
      ...[`    version: ${JSON.stringify(version)}`, `    subscriptionID: ${subscription}`],
      `    resourceGroup: ${JSON.stringify(group)}`,
    ].join('\n'),
    bicep: `imageReference: {\n  id: '${id}'\n}`,
    terraform: `source_image_id = "${id}"`,
  };
  return { id, text: texts[tool] };
}

/** What Cluster API needs on an image: it configures machines with cloud-init, which calls kubeadm. */
const joiners = ['kubeadm', 'cloud-init', 'kubelet'] as const;

/** Throws `image-cannot-join` unless the SBOM has everything that a machine of Cluster API joins with. */
export function requireJoinable(name: string, packages: readonly string[]): void {
  const missing = joiners.filter((joiner) => !packages.includes(joiner));
  if (missing.length === 0) return;
  const what = missing.join(' and no ');
  throw new ImagoError(
    'image-cannot-join',
    `${name} cannot join a cluster of Cluster API, which starts kubeadm by cloud-init: it has no ${what}.`,
  );
}
