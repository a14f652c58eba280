// From a component of the recipe and its locked inputs to what the installer puts on a system.

import { ImagoError } from '../../domain/error/imago-error.ts';
import { componentInputs, type Lock } from '../../domain/lock/lock.ts';
import { type RecipeComponent, sourceKind, sourceOf } from '../../domain/recipe/recipe.ts';
import { substitute } from '../../domain/recipe/variables.ts';
import type { InstallComponent, InstallFile, InstallVersion } from '../../install/install-component.ts';
import type { ContentFolder } from '../content/content-folder.ts';

/** The text of what names it by content or file. */
export type ReadText = (item: { readonly content?: string; readonly file?: string }) => Promise<string>;

export async function installableComponent(
  component: RecipeComponent,
  lock: Lock,
  text: ReadText,
): Promise<InstallComponent> {
  const source = sourceOf(component);
  const { unit, pick, mode } = component;
  const config: InstallFile[] = [];
  for (const file of component.config ?? []) {
    const owner = file.owner === undefined ? {} : ownerIds(file.owner);
    config.push({
      path: file.path,
      text: await text(file),
      ...(file.mode && { mode: octal(file.mode) }),
      ...owner,
    });
  }
  return {
    name: component.name,
    kind: sourceKind(source),
    versions: componentInputs(component, lock.inputs).map((found) => installVersion(component, found)),
    ...(mode !== undefined && { mode: octal(mode) }),
    ...('tar' in source && {
      unpack: { strip: source.strip ?? 0, ...(source.only && { only: source.only }) },
    }),
    ...(unit !== undefined && {
      unit: {
        name: unit.name ?? `${component.name}.service`,
        text: await text(unit),
        enable: unit.enable !== false,
      },
    }),
    ...(config.length > 0 && { config }),
    ...(pick !== undefined && { pick }),
    ...(component.private === true && { private: true }),
  };
}

function installVersion(
  component: RecipeComponent,
  { version, input }: ReturnType<typeof componentInputs>[number],
): InstallVersion {
  if (input === undefined) {
    throw new ImagoError('lock-invalid', `The lock has no input for ${component.name} ${version}.`);
  }
  const { to } = component;
  return {
    version: version || input.version,
    input,
    ...(to !== undefined && { to: substitute(to, { version }).text }),
  };
}

function octal(mode: string): number {
  return Number.parseInt(mode, 8);
}

function ownerIds(owner: string): { uid: number; gid: number } {
  const [uid, gid] = owner.split(':').map((id) => (id === 'root' ? 0 : Number(id)));
  return { uid: uid ?? 0, gid: gid ?? 0 };
}

export function textReader(inputs: ContentFolder, lock: Lock): ReadText {
  return async ({ content, file }) => {
    if (content !== undefined) return content;
    const input = lock.inputs.find((one) => one.kind === 'config' && one.name === file);
    const stored = input && (await inputs.find(input.sha256));
    if (stored === undefined)
      throw new ImagoError('input-missing', `The file ${file} is no longer in the cache.`);
    return (await inputs.readBytes(stored)).toString('utf8');
  };
}
