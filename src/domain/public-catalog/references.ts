// How a version in an Azure gallery is written for the tools that people start machines with. A community gallery is
// named by its public name, so that no subscription of ours stands in what strangers paste.
import type { AzureCoordinates } from '../gallery/gallery.ts';

export const referenceTools = {
  capz: 'Cluster API (CAPZ)',
  terraform: 'Terraform',
  bicep: 'Bicep',
  az: 'Azure CLI',
} as const;
export type ReferenceTool = keyof typeof referenceTools;

export interface CatalogReference {
  readonly tool: ReferenceTool;
  /** To be pasted as it is. */
  readonly text: string;
}

export function referencesTo(
  azure: AzureCoordinates,
  image: string,
  version: string,
): readonly CatalogReference[] {
  const id = imageId(azure, image, version);
  const idField = azure.communityName === undefined ? 'id' : 'communityGalleryImageId';
  return [
    { tool: 'capz', text: capzImage(azure, image, version) },
    { tool: 'terraform', text: `source_image_id = "${terraformId(id)}"` },
    { tool: 'bicep', text: `imageReference: {\n  ${idField}: '${id}'\n}` },
    { tool: 'az', text: `az vm create --resource-group RESOURCE_GROUP --name NAME --image '${id}'` },
  ];
}

function imageId(
  { subscription, resourceGroup, gallery, communityName }: AzureCoordinates,
  image: string,
  version: string,
): string {
  if (communityName !== undefined) {
    return `/CommunityGalleries/${communityName}/Images/${image}/Versions/${version}`;
  }
  const group = `/subscriptions/${subscription}/resourceGroups/${resourceGroup}`;
  return `${group}/providers/Microsoft.Compute/galleries/${gallery}/images/${image}/versions/${version}`;
}

/** Terraform's provider reads ids of community galleries in this spelling alone. */
function terraformId(id: string): string {
  return id
    .replace('/CommunityGalleries/', '/communityGalleries/')
    .replace('/Images/', '/images/')
    .replace('/Versions/', '/versions/');
}

/** Without subscription and resource group, CAPZ takes the gallery for a community gallery. */
function capzImage(
  { subscription, resourceGroup, gallery, communityName }: AzureCoordinates,
  image: string,
  version: string,
): string {
  const own = [`    subscriptionID: ${subscription}`, `    resourceGroup: ${JSON.stringify(resourceGroup)}`];
  return [
    'image:',
    '  computeGallery:',
    `    gallery: ${communityName ?? gallery}`,
    `    name: ${image}`,
    `    version: ${JSON.stringify(version)}`,
    ...(communityName === undefined ? own : []),
  ].join('\n');
}
