// Selects the version of components, and installs components that are missing in the image.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { HotfixConfig } from '../../domain/node-config/schema.ts';
import { type InstallComponent, installComponent } from '../../install/install-component.ts';
import { pickVersion } from '../../install/pick-version.ts';
import { type ComponentReceipt, receiptPath } from '../../install/receipt.ts';
import type { Effect } from '../desired/change.ts';
import { hasUnit, type Step, type StepContext, sorted } from '../desired/step.ts';
import type { System } from '../system/system.ts';

export const componentsStep: Step = {
  name: 'components',
  async run(context) {
    for (const hotfix of context.config.hotfixes ?? []) await installHotfix(context, hotfix);
    for (const [name, version] of sorted(context.config.components ?? {})) {
      const owner = `component:${name}`;
      const unit = `${name}.service`;
      const effects: readonly Effect[] = hasUnit(context.system, unit) ? [`restart:${unit}`] : [];
      await pickVersion(context.desired.scope({ step: 'components', owner, effects }), name, version);
    }
  },
};

async function installHotfix(context: StepContext, hotfix: HotfixConfig): Promise<void> {
  const { desired, system, outside } = context;
  const { component, version, sha256, kind = 'binary', source, restarts = [] } = hotfix;
  const owner = `hotfix:${component}`;
  const receipt = readReceipt(system, component);
  if (receipt !== undefined && isThere(receipt, hotfix)) {
    desired.keep(owner);
    return;
  }
  if (kind === 'package') await outside.installPackage({ component, version, source, sha256 });
  const to = kind === 'package' ? undefined : (hotfix.to ?? receipt?.versions[0]?.path);
  if (kind !== 'package' && to === undefined) {
    throw new ImagoError(
      'node-config-invalid',
      `hotfixes: the image has no component ${component}, so the hotfix needs a path.`,
      { hint: 'Add `to` to the hotfix.' },
    );
  }
  const effects = restarts.map((unit): Effect => `restart:${unit}`);
  const input = { name: component, version, sha256, sizeBytes: 0, source };
  const install: InstallComponent = {
    name: component,
    kind: kind === 'binary' ? 'url' : kind,
    versions: [{ version, input, ...(to === undefined ? {} : { to }) }],
    mode: Number.parseInt(hotfix.mode ?? '0755', 8),
    unpack: { strip: hotfix.strip ?? 0 },
  };
  await installComponent(desired.scope({ step: 'components', owner, effects }), install);
}

/** Returns whether the image, or an earlier apply, has installed it. */
function isThere({ versions }: ComponentReceipt, { version, sha256, kind }: HotfixConfig): boolean {
  return versions.some((one) => one.version === version && (kind === 'package' || one.sha256 === sha256));
}

export function readReceipt(system: System, component: string): ComponentReceipt | undefined {
  const text = system.readText(receiptPath(component));
  return text === undefined ? undefined : (JSON.parse(text) as ComponentReceipt);
}
