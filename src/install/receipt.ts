// What an image says about each of its components: read by the agent when it selects a version, and when the contents of
// a disk are listed.
import type { SourceKind } from '../domain/recipe/installer-names.ts';

export interface ComponentReceipt {
  readonly name: string;
  readonly kind: SourceKind;
  readonly versions: readonly ReceiptVersion[];
  /** The link to the version in use, where several stand side by side. */
  readonly link?: string;
}

export interface ReceiptVersion {
  readonly version: string;
  readonly sha256: string;
  /** Where it is. */
  readonly path?: string;
  readonly source?: string;
}

export const receiptFolder = '/usr/lib/imago/components';

export function receiptPath(name: string): string {
  return installPath(receiptFolder, `${name}.json`);
}

export function installPath(folder: string, name: string): string {
  return `${folder.replace(/\/+$/, '')}/${name.replace(/^\/+/, '')}`;
}
