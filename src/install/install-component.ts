// Puts one component on a system, with its unit, its configuration, and a receipt that says what is there.
import type { SourceKind } from '../domain/recipe/installer-names.ts';
import { enableUnit } from './enable-unit.ts';
import type { Host, HostInput, UnpackOptions } from './host.ts';
import { linkPicked } from './pick-version.ts';
import { type ComponentReceipt, installPath, receiptPath } from './receipt.ts';

export interface InstallFile {
  readonly path: string;
  readonly text: string;
  readonly mode?: number;
  readonly uid?: number;
  readonly gid?: number;
}

export interface InstallVersion {
  readonly version: string;
  /** Where it goes; packages go where they want. */
  readonly to?: string;
  readonly input: HostInput;
}

export interface InstallComponent {
  readonly name: string;
  readonly kind: SourceKind;
  readonly versions: readonly InstallVersion[];
  /** Of single files; 0755 when absent. What is in an archive has its own. */
  readonly mode?: number;
  readonly unpack?: UnpackOptions;
  readonly unit?: { readonly name: string; readonly text: string; readonly enable: boolean };
  readonly config?: readonly InstallFile[];
  readonly pick?: { readonly link: string; readonly default: string };
  readonly private?: boolean;
}

/** A second call changes nothing. Units are put in place and enabled; starting them is the caller's. */
export async function installComponent(host: Host, component: InstallComponent): Promise<void> {
  for (const version of component.versions) await installVersion(host, component, version);
  for (const { path, text, ...options } of component.config ?? []) await host.writeText(path, text, options);
  if (component.unit !== undefined) {
    const { name, text, enable } = component.unit;
    await host.writeText(installPath('/etc/systemd/system', name), text);
    if (enable) await enableUnit(host, name, text);
  }
  const receipt = receiptOf(component);
  await host.writeText(receiptPath(component.name), `${JSON.stringify(receipt, null, 2)}\n`);
  if (component.pick !== undefined) await linkPicked(host, receipt, component.pick.default);
}

async function installVersion(
  host: Host,
  component: InstallComponent,
  { to, input }: InstallVersion,
): Promise<void> {
  if (to === undefined) return;
  const { mode = 0o755 } = component;
  switch (component.kind) {
    case 'url':
    case 'file':
      return host.placeFile(input, to, mode);
    case 'folder':
    case 'tar':
      return host.unpackArchive(input, to, component.unpack ?? {});
    case 'oci':
      return host.unpackArtifact(input, to, mode);
    case 'package':
      return;
  }
}

/** The source of a private component is not recorded. */
function receiptOf(component: InstallComponent): ComponentReceipt {
  const { name, kind, versions, pick } = component;
  return {
    name,
    kind,
    versions: versions.map(({ version, to, input }) => ({
      version,
      sha256: input.sha256,
      ...(to === undefined ? {} : { path: to }),
      ...(component.private === true ? {} : { source: input.source }),
    })),
    ...(pick === undefined ? {} : { link: pick.link }),
  };
}
