// What the agent of a disk says that it can do, and which versions of components it can choose from: so that a node
// config can be refused before it reaches a machine.
import { abilitiesPath } from '../../domain/node-config/capabilities.ts';
import { type ComponentReceipt, receiptFolder } from '../../install/receipt.ts';
import type { InventoryAgent } from '../model/inventory.ts';
import { type DiskTree, nameOf } from './disk-tree.ts';

/** `undefined` for a disk without an agent, or with one that says nothing that can be read. */
export async function readAgentFacts(tree: DiskTree): Promise<InventoryAgent | undefined> {
  const said = parse(await tree.readText(abilitiesPath)) as { readonly abilities?: unknown } | undefined;
  if (!Array.isArray(said?.abilities)) return undefined;
  const components: Record<string, readonly string[]> = {};
  for (const { path } of tree.list(receiptFolder)) {
    const receipt = parse(await tree.readText(path)) as Partial<ComponentReceipt> | undefined;
    if (!Array.isArray(receipt?.versions)) continue;
    components[nameOf(path).replace(/\.json$/, '')] = receipt.versions.map(({ version }) => version);
  }
  return { abilities: said.abilities.filter((one) => typeof one === 'string'), components };
}

function parse(text: string | undefined): unknown {
  try {
    const value: unknown = JSON.parse(text ?? 'null');
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
